//! Copies between variables of source files and all other kinds of memory: the generated test of
//! `cuda-safe`, for the kinds that need a kernel's source file.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use cuda_kernels::kernels::{variables_matrix, variables_table};
use cuda_safe::copy::memcpy_to_symbol;
use cuda_safe::launch::{Symbol, SymbolSlice};
use cuda_safe::{Device, Result};
use cuda_testing::alone;
use cuda_testing::matrix::{Bounds, Destination, Entry, Memory, Source, holds, run, second, standard};
use cuda_testing::schedules::in_all_schedules;

/// A part of a variable on a device, with as many elements as a box and its guards have.
struct Variable {
    all: SymbolSlice<i32>,
    bounds: Bounds,
}

impl Memory<i32> for Variable {
    fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn write(&mut self, all: &[i32]) {
        memcpy_to_symbol(self.all, all).unwrap();
    }

    fn read(&self) -> Vec<i32> {
        self.all.to_vec().unwrap()
    }

    fn source(&self, _: usize, [x, ..]: [usize; 3], [w, ..]: [usize; 3]) -> Result<Source<'_, i32>> {
        Ok(Source::Symbol(self.all.slice(..self.bounds.size[0])?.slice(x..x + w)?))
    }

    fn destination(
        &mut self,
        _: usize,
        [x, ..]: [usize; 3],
        [w, ..]: [usize; 3],
    ) -> Result<Destination<'_, i32>> {
        Ok(Destination::Symbol(self.all.slice(..self.bounds.size[0])?.slice(x..x + w)?))
    }
}

/// Returns a kind of variable on one device.
fn variable(name: &'static str, symbol: &'static Symbol<i32>, device: Device) -> Entry<i32> {
    Entry::new(name, &[1], move |bounds| {
        let bounds = Bounds::packed(bounds.size);
        Box::new(Variable { all: symbol.slice(..bounds.len()).unwrap().on(device), bounds })
    })
}

/// Returns all kinds including the variables, and the number of variables.
fn kinds() -> (Vec<Entry<i32>>, usize) {
    let mut kinds = standard::<i32>();
    let others = kinds.len();
    let first = Device::all().unwrap().next().unwrap();
    kinds.push(variable("__device__ variable", &variables_matrix, first));
    kinds.push(variable("__constant__ variable", &variables_table, first));
    if let Some(second) = second() {
        kinds.push(variable("the second device's __device__ variable", &variables_matrix, second));
    }
    let variables = kinds.len() - others;
    (kinds, variables)
}

#[test]
fn variables_are_copied_to_and_from_all_kinds_of_memory() {
    let _alone = alone();
    let (kinds, variables) = kinds();
    let is_variable = |kind: &Entry<i32>| kind.name.contains("variable");
    let tally = run(&kinds, |to, from| is_variable(to) != is_variable(from));
    // The pitched kinds have other shapes.
    holds(&tally, 2 * variables * (kinds.len() - variables - 2));
}

#[test]
fn the_emulator_gives_the_same_in_all_its_schedules() {
    in_all_schedules("all_kinds_of_memory", 1);
}
