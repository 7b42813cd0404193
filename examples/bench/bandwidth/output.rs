//! Prints the results as a table, Markdown, JSON, or comma-separated values.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, Table, presets};
use serde_json::json;

use crate::size::Size;

/// The rates of one case, one for each size.
pub(crate) struct Series {
    pub(crate) name: &'static str,
    pub(crate) shown: &'static str,
    pub(crate) rates: Vec<f64>,
}

/// All results.
pub(crate) struct Report {
    pub(crate) machine: String,
    pub(crate) emulated: bool,
    pub(crate) method: String,
    pub(crate) sizes: Vec<Size>,
    pub(crate) series: Vec<Series>,
}

/// Formats a rate with three digits.
fn digits(rate: f64) -> String {
    let places = if rate >= 100.0 {
        0
    } else if rate >= 10.0 {
        1
    } else {
        2
    };
    format!("{rate:.places$}")
}

impl Report {
    fn rows(&self) -> impl Iterator<Item = Vec<String>> {
        self.series.iter().map(|series| {
            std::iter::once(series.shown.to_owned()).chain(series.rates.iter().copied().map(digits)).collect()
        })
    }

    fn heads(&self) -> Vec<String> {
        std::iter::once("GB/s".to_owned()).chain(self.sizes.iter().map(Size::to_string)).collect()
    }

    /// Returns a table for a terminal.
    pub(crate) fn table(&self) -> String {
        let mut table = Table::new();
        table.load_preset(presets::UTF8_FULL_CONDENSED).set_header(self.heads()).add_rows(self.rows());
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        format!("{}\n{}\n{table}\n", self.machine, self.method)
    }

    /// Returns a table in Markdown.
    pub(crate) fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let rule = format!("|---{}|\n", "|--:".repeat(self.sizes.len()));
        let rows: String = self.rows().map(line).collect();
        format!("{}\n\n{}{rule}{rows}", self.method, line(self.heads()))
    }

    /// Returns JSON, for programs.
    pub(crate) fn json(&self) -> String {
        let cases: Vec<_> = self
            .series
            .iter()
            .map(|series| {
                let rates: Vec<_> = self
                    .sizes
                    .iter()
                    .zip(&series.rates)
                    .map(|(size, rate)| json!({ "bytes": size.0, "gb_per_s": rate }))
                    .collect();
                json!({ "name": series.name, "description": series.shown, "rates": rates })
            })
            .collect();
        let Self { machine, emulated, method, .. } = self;
        let all = json!({ "machine": machine, "emulated": emulated, "method": method, "cases": cases });
        format!("{all:#}\n")
    }

    /// Returns comma-separated values, for spreadsheets.
    pub(crate) fn csv(&self) -> String {
        let mut text = "case,bytes,gb_per_s\n".to_owned();
        for series in &self.series {
            for (size, rate) in self.sizes.iter().zip(&series.rates) {
                // Writing to a string does not fail.
                let _ = writeln!(text, "{},{},{rate:.6}", series.name, size.0);
            }
        }
        text
    }
}
