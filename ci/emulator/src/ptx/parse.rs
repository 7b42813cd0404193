//! Reads the declarations of a module.

use std::collections::HashMap;

use super::SyntaxError;
use super::ast::{Function, Initial, Module, Name, Prototype, Space, Type, Variable};
use super::token::{Token, Tokens};

/// The newest version of PTX whose directives and instructions are known here: that of CUDA 13.0.
pub(crate) const KNOWN: (u32, u32) = (9, 0);

/// Reads a PTX text.
///
/// # Errors
/// When the text is not PTX; the error names the line.
pub(crate) fn parse(text: &str) -> Result<Module, SyntaxError> {
    let mut parser = Parser { tokens: Tokens::new(text)?, names: HashMap::new(), newer: false };
    let mut module = Module::default();
    while parser.tokens.peek() != Token::End {
        let start = parser.tokens.mark();
        match parser.item(&mut module) {
            Err(error) if parser.newer => {
                module.passed_over.push(error);
                parser.skip(start);
            }
            result => result?,
        }
    }
    Ok(module)
}

/// A text being read, and the names met so far.
pub(super) struct Parser<'a> {
    pub(super) tokens: Tokens<'a>,
    names: HashMap<&'a str, Name>,
    /// Whether the text is of a version that this reader does not know. Then what it cannot read is passed
    /// over: a declaration, or a statement, at which its kernel stops.
    pub(super) newer: bool,
}

/// Words that stand before a declaration.
#[derive(Default)]
struct Linkage {
    external: bool,
    managed: bool,
}

impl<'a> Parser<'a> {
    pub(super) fn name(&mut self, word: &'a str) -> Name {
        self.names.entry(word).or_insert_with(|| word.into()).clone()
    }

    /// Passes over a declaration or a statement that begins at a mark: up to its semicolon, or to the end of
    /// its braces if no semicolon comes before.
    pub(super) fn skip(&mut self, start: usize) {
        self.tokens.back(start);
        let mut depth = 0_u32;
        loop {
            // A closing brace that was not opened here is the function's.
            if depth == 0 && self.tokens.peek() == Token::Sign('}') {
                return;
            }
            match self.tokens.take() {
                Token::Sign('{' | '(' | '[') => depth += 1,
                Token::Sign(')' | ']') => depth = depth.saturating_sub(1),
                Token::Sign('}') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 && !matches!(self.tokens.peek(), Token::Sign(',' | ';')) {
                        return;
                    }
                }
                Token::Sign(';') if depth == 0 => return,
                Token::End => return,
                _ => {}
            }
        }
    }

    fn item(&mut self, module: &mut Module) -> Result<(), SyntaxError> {
        let mut linkage = Linkage::default();
        loop {
            let Token::Dot(word) = self.tokens.peek() else {
                // A stray semicolon follows declarations of functions.
                if self.tokens.eat(';') {
                    return Ok(());
                }
                return Err(self.tokens.error("a directive"));
            };
            match word {
                "visible" | "weak" | "common" => {
                    self.tokens.take();
                }
                "extern" => {
                    self.tokens.take();
                    linkage.external = true;
                }
                "attribute" => linkage.managed |= self.attribute()?,
                "version" => {
                    self.tokens.take();
                    module.version = match self.tokens.take() {
                        Token::Float(v) => split_version(v),
                        Token::Int(v) => (u32::try_from(v).unwrap_or(0), 0),
                        _ => return Err(self.tokens.error("a version")),
                    };
                    self.newer = module.version > KNOWN;
                    return Ok(());
                }
                "target" => {
                    self.tokens.take();
                    module.target = self.words()?;
                    return Ok(());
                }
                "address_size" => {
                    self.tokens.take();
                    if self.tokens.int()? != 64 {
                        return Err(self.tokens.error("an address size of 64 before this"));
                    }
                    return Ok(());
                }
                "file" => {
                    self.tokens.take();
                    let index = self.tokens.small()?;
                    if let Token::Text(text) = self.tokens.take() {
                        module.files.insert(index, text.into());
                    }
                    while self.tokens.eat(',') {
                        self.tokens.int()?;
                    }
                    return Ok(());
                }
                "section" => return self.section(),
                "pragma" | "loc" => {
                    self.tokens.take();
                    while !matches!(self.tokens.peek(), Token::Dot(_) | Token::End) {
                        self.tokens.take();
                    }
                    return Ok(());
                }
                "alias" => {
                    self.tokens.take();
                    let words = self.words()?;
                    self.tokens.expect(';')?;
                    if let [new, old] = &words[..] {
                        module.aliases.push((new.clone(), old.clone()));
                    }
                    return Ok(());
                }
                "entry" | "func" => return self.function(module),
                "global" | "const" | "shared" | "local" | "tex" => {
                    let list = self.variables(linkage.external, linkage.managed)?;
                    self.tokens.expect(';')?;
                    for variable in list {
                        declare(&mut module.variables, variable);
                    }
                    return Ok(());
                }
                _ => return Err(self.tokens.error("a directive of a module")),
            }
        }
    }

    fn attribute(&mut self) -> Result<bool, SyntaxError> {
        self.tokens.take();
        self.tokens.expect('(')?;
        let mut managed = false;
        while !self.tokens.eat(')') {
            match self.tokens.take() {
                Token::Dot("managed") => managed = true,
                Token::End => return Err(self.tokens.error("')'")),
                _ => {}
            }
        }
        Ok(managed)
    }

    /// Debug sections carry nothing that runs.
    fn section(&mut self) -> Result<(), SyntaxError> {
        while !self.tokens.eat('{') {
            if self.tokens.take() == Token::End {
                return Err(self.tokens.error("'{'"));
            }
        }
        while !self.tokens.eat('}') {
            if self.tokens.take() == Token::End {
                return Err(self.tokens.error("'}'"));
            }
        }
        Ok(())
    }

    /// Reads names separated by commas.
    pub(super) fn words(&mut self) -> Result<Vec<Name>, SyntaxError> {
        let mut list = Vec::new();
        loop {
            let word = self.tokens.word()?;
            list.push(self.name(word));
            if !self.tokens.eat(',') {
                return Ok(list);
            }
        }
    }

    fn function(&mut self, module: &mut Module) -> Result<(), SyntaxError> {
        let line = self.tokens.line();
        let entry = self.tokens.take() == Token::Dot("entry");
        if let Token::Dot("attribute") = self.tokens.peek() {
            self.attribute()?;
        }
        let returns = self.params()?;
        let word = self.tokens.word()?;
        let name = self.name(word);
        let params = self.params()?;
        let prototype = Prototype { returns, params };
        let mut function = Function { name, entry, prototype, line, ..Function::default() };
        loop {
            match self.tokens.peek() {
                Token::Sign('{') => {
                    function.body = Some(self.body()?);
                    break;
                }
                Token::Sign(';') => {
                    self.tokens.take();
                    break;
                }
                Token::Dot("maxntid") => function.max_threads = Some(self.triple()?),
                Token::Dot("reqntid") => function.required_threads = Some(self.triple()?),
                Token::Dot("reqnctapercluster") => function.cluster = Some(self.triple()?),
                Token::Dot("blocksareclusters") => {
                    self.tokens.take();
                    function.counts_clusters = true;
                }
                // Performance directives: they bind the hardware's compiler only.
                Token::Dot(_) => {
                    self.tokens.take();
                    while matches!(self.tokens.peek(), Token::Int(_) | Token::Sign(',') | Token::Text(_)) {
                        self.tokens.take();
                    }
                    // `.pragma "...";` in front of a body ends in a semicolon of its own.
                    if self.tokens.ahead(1) == Token::Sign('{') {
                        self.tokens.eat(';');
                    }
                }
                _ => return Err(self.tokens.error("a function's body or ';'")),
            }
        }
        match module.functions.iter_mut().find(|f| f.name == function.name) {
            Some(earlier) if earlier.body.is_none() => *earlier = function,
            Some(earlier) if function.body.is_some() => {
                let message = format!("{} is defined twice, first on line {}", function.name, earlier.line);
                return Err(SyntaxError { line, message });
            }
            Some(_) => {}
            None => module.functions.push(function),
        }
        Ok(())
    }

    fn triple(&mut self) -> Result<[u32; 3], SyntaxError> {
        self.tokens.take();
        let mut sizes = [1; 3];
        for (i, size) in sizes.iter_mut().enumerate() {
            if i > 0 && !self.tokens.eat(',') {
                break;
            }
            *size = self.tokens.small()?;
        }
        Ok(sizes)
    }

    /// Reads an optional parameter list in parentheses.
    pub(super) fn params(&mut self) -> Result<Vec<Variable>, SyntaxError> {
        let mut list = Vec::new();
        if !self.tokens.eat('(') {
            return Ok(list);
        }
        while !self.tokens.eat(')') {
            let mut one = self.variables_until(false, false, true)?;
            list.append(&mut one);
            if !self.tokens.eat(',') {
                self.tokens.expect(')')?;
                break;
            }
        }
        Ok(list)
    }

    /// Reads `.space .align 4 .type a[2] = {...}, b`.
    pub(super) fn variables(&mut self, external: bool, managed: bool) -> Result<Vec<Variable>, SyntaxError> {
        self.variables_until(external, managed, false)
    }

    fn variables_until(
        &mut self,
        external: bool,
        mut managed: bool,
        single: bool,
    ) -> Result<Vec<Variable>, SyntaxError> {
        let (mut space, mut ty, mut align, mut lanes) = (Space::Reg, None, None, 1);
        while let Token::Dot(word) = self.tokens.peek() {
            if word == "attribute" {
                managed |= self.attribute()?;
                continue;
            }
            self.tokens.take();
            match word {
                "reg" => space = Space::Reg,
                "global" | "tex" => space = Space::Global,
                "const" => space = Space::Const,
                "shared" => space = Space::Shared,
                "local" => space = Space::Local,
                "param" => space = Space::Param,
                "align" => align = Some(self.tokens.small()?),
                "v2" => lanes = 2,
                "v4" => lanes = 4,
                "v8" => lanes = 8,
                // `.ptr .global .align 8` describes the memory that a pointer argument points to.
                "ptr" => {
                    while let Token::Dot(word) = self.tokens.peek() {
                        self.tokens.take();
                        if word == "align" {
                            self.tokens.small()?;
                        }
                    }
                }
                _ => match Type::named(word) {
                    Some(found) => ty = Some(found),
                    None => return Err(self.tokens.error(&format!("a type and not .{word} before this"))),
                },
            }
        }
        let ty = ty.ok_or_else(|| self.tokens.error("a type"))?;
        let mut list = Vec::new();
        loop {
            let line = self.tokens.line();
            let word = self.tokens.word()?;
            let name = self.name(word);
            let (mut count, mut array) = (lanes, false);
            while self.tokens.eat('[') {
                array = true;
                let n = if self.tokens.peek() == Token::Sign(']') { 0 } else { self.tokens.int()? };
                count = u64::checked_mul(count, n).ok_or_else(|| self.tokens.error("a smaller array"))?;
                self.tokens.expect(']')?;
            }
            let mut variable = Variable {
                name,
                space,
                ty,
                align: align.unwrap_or(ty.size()),
                count,
                array,
                external,
                managed,
                initial: Vec::new(),
                line,
            };
            if self.tokens.eat('=') {
                self.initial(&mut variable.initial)?;
                if array && count == 0 {
                    variable.count = variable.initial.len() as u64;
                }
            }
            list.push(variable);
            if single || !self.tokens.eat(',') {
                return Ok(list);
            }
        }
    }

    fn initial(&mut self, list: &mut Vec<Initial>) -> Result<(), SyntaxError> {
        if self.tokens.eat('{') {
            while !self.tokens.eat('}') {
                self.initial(list)?;
                if !self.tokens.eat(',') {
                    self.tokens.expect('}')?;
                    break;
                }
            }
            return Ok(());
        }
        let negative = self.tokens.eat('-');
        let value = match self.tokens.take() {
            // `0xFF00(symbol)` takes one byte of an address.
            Token::Int(mask) if self.tokens.peek() == Token::Sign('(') => {
                self.tokens.take();
                let mut symbol = self.symbol()?;
                self.tokens.expect(')')?;
                if let Initial::Symbol { shift, .. } = &mut symbol {
                    *shift = Some(mask.trailing_zeros());
                }
                symbol
            }
            Token::Int(v) => Initial::Int(if negative { v.wrapping_neg() } else { v }),
            Token::Float(v) => Initial::Float(if negative { -v } else { v }),
            Token::F32(bits) => Initial::F32Bits(bits),
            Token::F64(bits) => Initial::Float(f64::from_bits(bits)),
            Token::Word("generic") if self.tokens.eat('(') => {
                let mut symbol = self.symbol()?;
                self.tokens.expect(')')?;
                let more = self.offset()?;
                if let Initial::Symbol { generic, offset, .. } = &mut symbol {
                    *generic = true;
                    *offset += more;
                }
                symbol
            }
            Token::Word(word) => {
                let name = self.name(word);
                Initial::Symbol { name, offset: self.offset()?, generic: false, shift: None }
            }
            _ => return Err(self.tokens.error("an initial value before this")),
        };
        list.push(value);
        Ok(())
    }

    fn symbol(&mut self) -> Result<Initial, SyntaxError> {
        let generic =
            self.tokens.peek() == Token::Word("generic") && self.tokens.ahead(1) == Token::Sign('(');
        if generic {
            self.tokens.take();
            self.tokens.take();
        }
        let word = self.tokens.word()?;
        let name = self.name(word);
        let offset = self.offset()?;
        if generic {
            self.tokens.expect(')')?;
        }
        Ok(Initial::Symbol { name, offset, generic, shift: None })
    }

    /// Reads an optional `+8` or `-8`.
    pub(super) fn offset(&mut self) -> Result<i64, SyntaxError> {
        let sign = self.tokens.peek();
        if sign == Token::Sign('+') {
            self.tokens.take();
        } else if sign != Token::Sign('-') {
            return Ok(0);
        }
        Ok(self.tokens.int()?.cast_signed())
    }
}

/// A definition replaces a declaration of the same name.
fn declare(list: &mut Vec<Variable>, variable: Variable) {
    match list.iter_mut().find(|v| v.name == variable.name) {
        Some(earlier) if earlier.external => *earlier = variable,
        Some(_) => {}
        None => list.push(variable),
    }
}

/// The tokens give a version as a number: 9.0, 7.8.
fn split_version(version: f64) -> (u32, u32) {
    let text = format!("{version:.1}");
    let (major, minor) = text.split_once('.').unwrap_or((&text, "0"));
    (major.parse().unwrap_or(0), minor.parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::super::ast::{Operand, Statement};
    use super::*;

    #[test]
    fn what_nvcc_writes_is_read() {
        let text = crate::testing::compile_ptx(
            r#"
            #include <cstdio>
            __device__ int table[4] = {1, 2, 3, 4};
            __constant__ float factor = 1.5f;
            __managed__ int shared_with_host = 5;
            __device__ const char* text = "hi";
            __device__ __noinline__ int one(int a) { return a * 3; }
            __device__ __noinline__ int two(int a) { return a * 5; }
            __device__ int (*choice[2])(int) = {one, two};
            __global__ void __launch_bounds__(128) kernel(int* out, int n) {
                extern __shared__ float dynamic[];
                dynamic[threadIdx.x] = factor;
                out[0] = choice[n & 1](n) + table[n & 3] + shared_with_host + dynamic[3] + text[n];
                switch (n) { case 1: out[1] = 3; break; case 2: out[4] = 5; break; case 3: out[2] = 9; break;
                             case 4: out[8] = 1; break; case 5: out[6] = 2; break; case 7: out[1] = 8; }
                asm volatile("{ .reg .u32 t; add.u32 t, %0, 1; st.global.u32 [%1], t; }" :: "r"(n), "l"(out));
                printf("%d\n", n);
            }"#,
            &["-lineinfo"],
        );
        let module = parse(&text).unwrap();
        let kernel = module.functions.iter().find(|f| f.entry).unwrap();
        assert_eq!(kernel.max_threads, Some([128, 1, 1]));
        assert_eq!(kernel.prototype.params.len(), 2);
        let variable = |name: &str| module.variables.iter().find(|v| &*v.name == name).unwrap();
        assert_eq!((variable("table").size(), variable("table").initial[4].clone()), (16, Initial::Int(2)));
        assert_eq!(variable("factor").space, Space::Const);
        assert!(variable("shared_with_host").managed);
        assert!(
            matches!(&variable("choice").initial[1], Initial::Symbol { name, .. } if name.contains("two"))
        );
        assert!(matches!(&variable("text").initial[0], Initial::Symbol { generic: true, .. }));
        let body = kernel.body.as_ref().unwrap();
        assert!(body.iter().any(|s| matches!(s, Statement::Location { line, .. } if *line > 0)));
        assert!(module.files.values().any(|f| f.contains("test.cu")));
        assert!(body.iter().any(|s| matches!(s, Statement::Instruction(i)
            if &*i.opcode == "call" && matches!(i.operands[0], Operand::List(_)))));
    }

    #[test]
    fn errors_name_the_line() {
        let message =
            parse(".version 9.0\n.target sm_90\n.entry k ( .param .u64 p ) {\n  add.s32 %r1 %r2;\n}");
        assert_eq!(message.unwrap_err().line, 4);
        assert_eq!(parse(".version 9.0\n.wrong").unwrap_err().line, 2);
        assert!(parse(".entry k() {").is_err());
        assert!(parse(".global .b8 x[18446744073709551615][2];").is_err());
    }

    #[test]
    fn odd_corners_of_the_language() {
        let text = ".version 7.8 .target sm_80, texmode_independent .address_size 64
            .weak .global .align 8 .b8 names[8] = {0xFF(table), 0xFF00(table), 1};
            .const .f64 half = 0.5; .const .f32 bits = 0f3F000000; .global .u64 far = generic(names)+4;
            .extern .shared .align 16 .b8 dynamic[];
            .func (.reg .u32 result) old (.reg .u32 a) { mov.u32 result, a; ret; }
            .alias new_name, old;
            .visible .entry k(.param .u64 .ptr .global .align 4 p, .param .align 4 .b8 s[12])
            .maxntid 256 .minnctapersm 2 .pragma \"x\"; {
                .reg .pred %p<3>; .reg .b32 a, b;
                @!%p1 bra L; setp.lt.and.s32 %p1|%p2, a, b, !%p1; { .reg .b32 a; mov.u32 a, %ctaid.y; }
            L: ld.global.v2.u32 {a, _}, [names+-4]; ld.global.u32 a, [names-4];
                targets: .branchtargets L, L; brx.idx a, targets;
                bar.sync 0; ret;
            }";
        let module = parse(text).unwrap();
        assert_eq!(module.version, (7, 8));
        let names = &module.variables[0];
        assert!(matches!(names.initial[1], Initial::Symbol { shift: Some(8), .. }));
        assert_eq!(module.variables[1].initial[0], Initial::Float(0.5));
        assert!(matches!(module.variables[3].initial[0], Initial::Symbol { offset: 4, generic: true, .. }));
        assert_eq!(module.aliases.len(), 1);
    }

    #[test]
    fn what_a_newer_version_adds_stops_the_kernel_that_has_it_and_not_the_module() {
        let text = |version: &str| {
            format!(
                ".version {version}\n.target sm_90\n.address_size 64\n.novelty .b32 x {{1, 2}};\n\
                 .visible .entry a() {{ fabric.submit.group [%rd1] -> {{%r1}}; .layout 3; ret; }}\n\
                 .visible .entry b() .brandnew 4 {{ ret; }}"
            )
        };
        for version in ["9.1", "9.5"] {
            let module = parse(&text(version)).unwrap();
            let opcodes = |name: &str| -> Vec<String> {
                let body = module.function(name).unwrap().body.as_ref().unwrap();
                let of = |it: &Statement| match it {
                    Statement::Instruction(it) => Some(it.opcode.to_string()),
                    _ => None,
                };
                body.iter().filter_map(of).collect()
            };
            let a = opcodes("a");
            assert!(
                a.len() == 3 && a[..2].iter().all(|it| it.starts_with("a statement of a newer")),
                "{a:?}"
            );
            assert_eq!(opcodes("b"), ["ret"]);
            assert!(module.passed_over.len() == 1 && module.passed_over[0].line == 4);
        }
        assert!(parse(&text("9.0")).is_err());
    }
}
