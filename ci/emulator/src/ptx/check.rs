//! Finds errors in PTX that parses, but that a compiler refuses: unknown instructions and undeclared
//! registers.

use std::collections::HashSet;

use super::SyntaxError;
use super::ast::{Function, Module, Operand, Statement};
use super::parse::KNOWN;

/// The instructions of PTX, whether the emulator runs them or not.
const OPCODES: &str = "\
    abs activemask add addc alloca and applypriority atom bar barrier bfe bfi bfind bmsk bra brev brkpt brx call \
    clusterlaunchcontrol clz cnot copysign cos cp createpolicy cvt cvta discard div dp2a dp4a elect ex2 exit fence \
    fma fns getctarank griddepcontrol isspacep istypep ld ldmatrix ldu lg2 lop3 mad mad24 madc mapa match max \
    mbarrier membar min mma mov movmatrix mul mul24 multimem nanosleep neg not or pmevent popc prefetch prefetchu \
    prmt rcp red redux rem ret rsqrt sad selp set setmaxnreg setp shf shfl shl shr sin slct sqrt st stackrestore \
    stacksave stmatrix sub subc suld suq sured sust szext tanh tcgen05 tensormap testp tex tld4 trap txq vabsdiff \
    vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vote vset vset2 \
    vset4 vshl vshr vsub vsub2 vsub4 wgmma wmma xor";

/// The instructions of PTX, in the order of the alphabet.
#[cfg(test)]
pub(crate) fn opcodes() -> impl Iterator<Item = &'static str> {
    OPCODES.split_whitespace()
}

/// The prefixes of registers that no text declares.
const SPECIAL: &str = "\
    %tid %ntid %laneid %warpid %nwarpid %ctaid %nctaid %smid %nsmid %gridid %clock %is_explicit_cluster %cluster \
    %ncluster %lanemask_ %pm %envreg %globaltimer %reserved_smem_ %total_smem_size %aggr_smem_size \
    %dynamic_smem_size %current_graph_exec";

/// The registers of a function, in whatever scope.
#[derive(Default)]
struct Declared<'m> {
    names: HashSet<&'m str>,
    numbered: Vec<(&'m str, u32)>,
}

impl<'m> Declared<'m> {
    fn of(function: &'m Function, body: &'m [Statement]) -> Self {
        let mut found = Self::default();
        let prototype = &function.prototype;
        found.names.extend(prototype.returns.iter().chain(&prototype.params).map(|it| &*it.name));
        for statement in body {
            match statement {
                Statement::Variable(variable) => {
                    found.names.insert(&variable.name);
                }
                Statement::Registers { prefix, count, .. } => found.numbered.push((prefix, *count)),
                _ => {}
            }
        }
        found
    }

    /// Whether a register is declared. A name that does not look like a register returns true.
    fn has(&self, name: &str) -> bool {
        // Parts of vectors follow a dot.
        let whole = name.split_once('.').map_or(name, |(whole, _)| whole);
        let numbered = |&(prefix, count): &(&str, u32)| {
            whole
                .strip_prefix(prefix)
                .and_then(|number| number.parse().ok())
                .is_some_and(|it: u32| it < count)
        };
        !name.starts_with('%')
            || self.names.contains(whole)
            || self.numbered.iter().any(numbered)
            || SPECIAL.split(' ').any(|special| whole.starts_with(special))
    }

    /// The first register of an operand that is not there.
    fn missing<'o>(&self, operand: &'o Operand) -> Option<&'o str> {
        let one = |name: &'o str| (!self.has(name)).then_some(name);
        match operand {
            Operand::Name(name) | Operand::Offset(name, _) | Operand::Address(Some(name), _) => one(name),
            Operand::Vector(list) | Operand::Multi(list) | Operand::List(list) => {
                list.iter().find_map(|it| self.missing(it))
            }
            Operand::Not(inner) => self.missing(inner),
            Operand::Pair(first, second) => self.missing(first).or_else(|| self.missing(second)),
            Operand::Int(_) | Operand::F32(_) | Operand::F64(_) | Operand::Address(None, _) => None,
        }
    }
}

/// Looks through all functions of a module.
///
/// # Errors
/// The first instruction that no compiler takes. A text of a newer version than is known may have others.
pub(crate) fn check(module: &Module) -> Result<(), SyntaxError> {
    for function in &module.functions {
        let Some(body) = &function.body else { continue };
        let declared = Declared::of(function, body);
        for statement in body {
            let Statement::Instruction(it) = statement else { continue };
            let error = |message| Err(SyntaxError { line: it.line, message });
            if module.version <= KNOWN && !OPCODES.split(' ').any(|opcode| opcode == &*it.opcode) {
                return error(format!("there is no instruction {}", it.form()));
            }
            let guard = it.guard.as_ref().map(|guard| &*guard.name).filter(|name| !declared.has(name));
            if let Some(name) = guard.or_else(|| it.operands.iter().find_map(|it| declared.missing(it))) {
                return error(format!("{name} is not declared"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::ptx::parse;

    /// Puts lines into a function of their own, from its fourth line on.
    fn told(lines: &str) -> Option<(u32, String)> {
        let text = format!(
            ".version 8.0\n.target sm_70\n.address_size 64 .func f(.reg .b32 %in) {{ \
             .reg .b32 %r<3>, %one; .reg .pred %p;\n{lines}\n}}"
        );
        check(&parse(&text).unwrap()).err().map(|error| (error.line, error.message))
    }

    #[test]
    fn registers_are_declared_with_numbers_or_without_and_some_are_always_there() {
        assert_eq!(
            told("mov.b32 %r2, %tid.x; @!%p add.s32 %one, %in, %clock; st.u32 [%r0], {%r1, %r2};"),
            None
        );
        for (text, name) in [
            ("mov.b32 %r1, %r3;", "%r3"),
            ("@%q mov.b32 %r1, %r2;", "%q"),
            ("ld.u32 %r1, [%rd1+4];", "%rd1"),
            ("st.v2.u32 [%r1], {%r1, %two};", "%two"),
        ] {
            assert_eq!(told(&format!("ret;\n{text}")), Some((5, format!("{name} is not declared"))));
        }
    }

    #[test]
    fn an_instruction_that_there_is_not_is_named_and_one_that_is_not_emulated_passes() {
        assert_eq!(told("wgmma.fence.sync.aligned;"), None);
        assert_eq!(
            told("madness.u32 %r1, %r2;"),
            Some((4, "there is no instruction madness.u32".to_owned()))
        );
    }
}
