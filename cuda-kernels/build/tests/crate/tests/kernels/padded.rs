//! A struct with padding by value: its fields count in a proof, and what is between them has no value.

use cuda_safe::{DeviceBuffer, Result, Stream, launch};

use crate::kernels::{Step, between, step_up};

#[test]
fn a_proof_knows_the_fields_of_a_struct_with_padding_and_nothing_between_them() -> Result<()> {
    let stream = Stream::new()?;
    let mut data = DeviceBuffer::from_slice(&[0_i32; 3])?;
    // The same verdict serves a launch whose other fields differ.
    for by in [1, 2] {
        launch!(step_up<<<1, 32, 0, &stream>>>(&mut data, Step { by, count: 3, last: 2 }))?;
    }
    assert_eq!(data.to_vec()?, [3, 3, 200]);
    let refused = launch!(step_up<<<1, 32, 0, &stream>>>(&mut data, Step { by: 1, count: 4, last: 2 }));
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("step_up may") && text.contains("data[3..4], but data has 3 elements"), "{text}");
    assert_eq!(step_up.needs((1, 32), ((), Step { by: 1, count: 9, last: 2 }))?[0].bytes(), 36);

    let refused = launch!(between<<<1, 1, 0, &stream>>>(&mut data, Step { by: 1, count: 1, last: 1 }));
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("an address depends on bytes between the fields of a struct"), "{text}");
    Ok(())
}
