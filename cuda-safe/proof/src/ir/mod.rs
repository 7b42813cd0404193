//! The slice: what is left of a kernel, its control flow, and its bytes.

mod cfg;
mod inst;

pub(crate) use inst::{
    Clusters, Effect, Graph, Loaded, Loop, Object, Op, Operand, Origin, Space, Special, Step,
};
pub use inst::{Kernel, NotASlice, Parameter};

impl Object {
    /// Returns the name in C++. The symbol of a variable in a function begins with that of the function:
    /// `_ZZ4tilePKfPfE1s` is `s`.
    pub(crate) fn spelled(&self) -> &str {
        let inside = self.name.strip_prefix("_ZZ").unwrap_or_default();
        let spelled = inside.match_indices('E').find_map(|(at, _)| {
            let (rest, digits) = (inside.get(at + 1..)?, |it: &char| it.is_ascii_digit());
            let start = rest.chars().take_while(digits).count();
            let end = start + rest.get(..start)?.parse::<usize>().ok()?;
            let number = rest.get(end..)?;
            (number.is_empty() || number.starts_with('_')).then(|| rest.get(start..end))?
        });
        spelled.unwrap_or(&self.name)
    }
}
