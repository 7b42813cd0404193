use super::operands::{IMAGE_OPERANDS, ImageOperands};
use super::*;
use crate::exec::geometry::{Geometry, LevelBy, Read};

/// A texture of 4 numbers, 0, 10, 20 and 30.
fn line(numbers: &mut [f32; 4], address: Address, linear: bool, normalized: bool) -> Texture {
    *numbers = [0.0, 10.0, 20.0, 30.0];
    Texture {
        image: Image {
            host: numbers.as_mut_ptr().cast(),
            geometry: Some(Geometry::Line),
            size: [4, 1, 1],
            pitch: 16,
            slice: 16,
            channels: Channels { kind: NumberKind::Float, bytes: 4, count: 1 },
        },
        smaller: Vec::new(),
        levels: LevelRule { linear: false, bias: 0.0, range: [0.0, 99.0], anisotropy: 0 },
        address: [address; 3],
        linear,
        numbers: Numbers::Plain,
        normalized_coords: normalized,
        border: [-1.0, 0.0, 0.0, 0.0],
        seamless: false,
    }
}

/// A read of floating-point numbers without a level.
fn floats(geometry: Geometry) -> Read {
    Read { geometry, by_number: false, floats: true, level: LevelBy::Nothing, gathers: None }
}

fn operands(words: &[f32]) -> ImageOperands {
    let mut given = [0; IMAGE_OPERANDS];
    given.iter_mut().zip(words).for_each(|(to, from)| *to = from.to_bits());
    given
}

fn at(texture: &Texture, x: f32) -> f32 {
    let read = floats(Geometry::Line);
    f32::from_bits(texture.read(read, &operands(&[x]), &mut |_| ()).unwrap()[0])
}

#[test]
fn the_nearest_element_is_that_of_the_whole_number_below() {
    let mut numbers = [0.0; 4];
    let texture = line(&mut numbers, Address::Clamp, false, false);
    assert_eq!(
        [-5.0, 0.0, 0.99, 1.0, 3.5, 4.0, f32::NAN].map(|x| at(&texture, x)),
        [0.0, 0.0, 0.0, 10.0, 30.0, 30.0, 0.0]
    );
}

#[test]
fn weights_have_eight_bits_of_fraction() {
    let mut numbers = [0.0; 4];
    let texture = line(&mut numbers, Address::Clamp, true, false);
    assert_eq!([0.5, 1.0, 1.5, 0.0, 9.0].map(|x| at(&texture, x)), [0.0, 5.0, 10.0, 0.0, 30.0]);
    // A third is 85 of 256.
    assert_eq!(at(&texture, 0.5 + 1.0 / 3.0), 10.0 * 85.0 / 256.0);
}

#[test]
fn outside_is_what_the_mode_says() {
    let mut numbers = [0.0; 4];
    let wrap = line(&mut numbers, Address::Wrap, false, true);
    assert_eq!([-0.25, 1.0, 1.25, 2.75].map(|x| at(&wrap, x)), [30.0, 0.0, 10.0, 30.0]);
    let mirror = line(&mut numbers, Address::Mirror, false, true);
    assert_eq!([-0.1, 1.0, 1.3, 2.0].map(|x| at(&mirror, x)), [0.0, 30.0, 20.0, 0.0]);
    let border = line(&mut numbers, Address::Border, true, false);
    // Half of all that a filter gives is border.
    assert_eq!([-1.0, 0.0, 0.5, 4.0].map(|x| at(&border, x)), [-1.0, -0.75, -0.5, 6.75]);
    let nearest = line(&mut numbers, Address::Border, false, false);
    assert_eq!([-0.5, 0.5, 3.5, 4.0].map(|x| at(&nearest, x)), [-1.0, 0.0, 30.0, -1.0]);
}

#[test]
fn a_direction_meets_the_middle_of_its_face_and_a_filter_stays_on_it() {
    let mut numbers: Vec<f32> = (0..24_u8).map(f32::from).collect();
    let image = Image {
        host: numbers.as_mut_ptr().cast(),
        geometry: Some(Geometry::Cube),
        size: [2, 2, 6],
        pitch: 8,
        slice: 16,
        channels: Channels { kind: NumberKind::Float, bytes: 4, count: 1 },
    };
    let mut texture = Texture { image, linear: true, ..line(&mut [0.0; 4], Address::Clamp, true, true) };
    let read = floats(Geometry::Cube);
    let at = |texture: &Texture, direction: [f32; 3]| {
        texture.read(read, &operands(&direction), &mut |_| ()).map(|it| f32::from_bits(it[0]))
    };
    for (axis, sign, middle) in
        [(0, 1.0, 1.5), (0, -1.0, 5.5), (1, 1.0, 9.5), (1, -1.0, 13.5), (2, 1.0, 17.5), (2, -1.0, 21.5)]
    {
        let mut direction = [0.0; 3];
        direction[axis] = sign;
        assert_eq!(at(&texture, direction), Ok(middle));
    }
    // The lower left element of the face in front: s grows with x, and t falls with y.
    assert_eq!(at(&texture, [-0.5, -0.5, 1.0]), Ok(18.0));
    // Beyond the edge is the element at the edge, or one of the next face: of 16 and 18, and of 5 and 7.
    assert_eq!(at(&texture, [-0.9999, 0.0, 1.0]), Ok(17.0));
    texture.seamless = true;
    assert_eq!(at(&texture, [-0.9999, 0.0, 1.0]), Ok((17.0 + 6.0) / 2.0));
    // At a corner the three faces that meet there are mixed: 85 or 86 of 256 from each.
    assert_eq!(at(&texture, [-0.9999, -0.9999, 1.0]), Ok((86.0 * 18.0 + 85.0 * (7.0 + 12.0)) / 256.0));
    texture.linear = false;
    assert_eq!(at(&texture, [-0.9, 0.1, 1.0]), Ok(16.0));
}

#[test]
fn a_level_is_the_nearest_or_a_mixture_of_two_within_the_limits() {
    let mut numbers = [0.0; 4];
    let mut texture = line(&mut numbers, Address::Clamp, false, true);
    let mut levels = [[256.0_f32; 4], [512.0; 4]];
    for (level, size) in levels.iter_mut().zip([2, 1]) {
        let host = level.as_mut_ptr().cast();
        texture.smaller.push(Image { host, size: [size, 1, 1], ..texture.image });
    }
    let read = Read { level: LevelBy::Number, ..floats(Geometry::Line) };
    let at = |texture: &Texture, level: f32| {
        let given = operands(&[0.0, 0.0, 0.0, 0.0, level]);
        f32::from_bits(texture.read(read, &given, &mut |_| ()).unwrap()[0])
    };
    assert_eq!(
        [-1.0, 0.4, 0.5, 1.4, 1.5, 9.0].map(|it| at(&texture, it)),
        [0.0, 0.0, 256.0, 256.0, 512.0, 512.0]
    );
    texture.levels.linear = true;
    assert_eq!([-1.0, 0.25, 1.0, 1.5, 9.0].map(|it| at(&texture, it)), [0.0, 64.0, 256.0, 384.0, 512.0]);
    texture.levels = LevelRule { bias: 0.5, range: [0.75, 1.25], ..texture.levels };
    assert_eq!([-1.0, 0.5, 9.0].map(|it| at(&texture, it)), [192.0, 256.0, 320.0]);
}

#[test]
fn derivatives_of_two_elements_select_the_second_level() {
    let mut numbers = [0.0; 4];
    let mut texture = line(&mut numbers, Address::Clamp, false, true);
    let mut level = [256.0_f32; 2];
    texture.smaller.push(Image { host: level.as_mut_ptr().cast(), size: [2, 1, 1], ..texture.image });
    texture.levels.linear = true;
    let read = Read { level: LevelBy::Derivatives, ..floats(Geometry::Line) };
    for (dx, dy, found) in [(0.0, 0.0, 0.0), (0.25, 0.1, 0.0), (0.5, 0.0, 256.0), (0.1, -0.5, 256.0)] {
        let given = operands(&[0.0, 0.0, 0.0, 0.0, 0.0, dx, 0.0, 0.0, dy]);
        let texel = texture.read(read, &given, &mut |_| ()).unwrap();
        assert_eq!(f32::from_bits(texel[0]), found, "{dx} {dy}");
    }
}

#[test]
fn a_gather_begins_at_the_lower_left() {
    let mut numbers = [0.0; 4];
    let mut texture = line(&mut numbers, Address::Clamp, false, false);
    texture.image = Image { geometry: Some(Geometry::Plane), size: [2, 2, 1], pitch: 8, ..texture.image };
    let read = Read { gathers: Some(0), ..floats(Geometry::Plane) };
    let at = |texture: &Texture, x, y| {
        texture.read(read, &operands(&[x, y]), &mut |_| ()).unwrap().map(f32::from_bits)
    };
    assert_eq!(at(&texture, 1.0, 1.0), [20.0, 30.0, 10.0, 0.0]);
    assert_eq!(at(&texture, 0.2, 0.2), [0.0, 0.0, 0.0, 0.0]);
    texture.address = [Address::Border; 3];
    assert_eq!(at(&texture, 2.0, 1.0), [30.0, -1.0, -1.0, 10.0]);
}

#[test]
fn colours_are_made_linear_and_the_fourth_channel_is_not() {
    let mut bytes = [128_u8, 10, 255, 128];
    let texture = line(&mut [0.0; 4], Address::Clamp, false, false);
    let channels = Channels { kind: NumberKind::Unsigned, bytes: 1, count: 4 };
    let image = Image { host: bytes.as_mut_ptr(), channels, size: [1, 1, 1], ..texture.image };
    let texture = Texture { image, numbers: Numbers::Colours, ..texture };
    let found = texture.read(floats(Geometry::Line), &operands(&[]), &mut |_| ()).unwrap();
    let [r, g, b, a] = found.map(f32::from_bits);
    // 221 of 1024, and 50 of 2^14.
    assert_eq!((r, g), (0.215_820_31, 0.003_051_757_8));
    assert_eq!((b, a), (1.0, 128.0 / 255.0));
}

#[test]
fn a_read_of_another_kind_of_number_gives_bits_and_one_of_a_solid_nothing() {
    let mut numbers = [0.0; 4];
    let texture = line(&mut numbers, Address::Clamp, false, false);
    let read = Read { floats: false, ..floats(Geometry::Line) };
    let at = |read| texture.read(read, &operands(&[1.5]), &mut |_| ()).unwrap().map(f32::from_bits);
    assert_eq!(at(read), [10.0, 0.0, 0.0, 0.0]);
    assert_eq!(at(floats(Geometry::Plane)), [10.0, 0.0, 0.0, 0.0]);
    assert_eq!(at(floats(Geometry::Solid)), [0.0; 4]);
}

#[test]
fn means_are_rounded_as_on_an_h200() {
    let texture = line(&mut [0.0; 4], Address::Clamp, true, false);
    let at = |host: *mut u8, kind, bytes, count, numbers, x| {
        let channels = Channels { kind, bytes, count };
        let image = Image { host, channels, size: [2, 1, 1], ..texture.image };
        let texture = Texture { image, numbers, ..texture.clone() };
        texture.read(floats(Geometry::Lines), &operands(&[0.0, x]), &mut |_| ()).unwrap().map(f32::from_bits)
    };
    // Fractions have 16 bits. The lowest signed byte counts as -128 of 127, and the result is at least -1.
    let mut bytes = [-6_i8, -128];
    let bytes = bytes.as_mut_ptr().cast();
    let signed = |x| at(bytes, NumberKind::Signed, 1, 1, Numbers::Fractions, x)[0];
    assert_eq!([1.4, 1.5].map(signed), [-29_828.0 / 32_767.0, -1.0]);
    let mut shorts = [2554_i16, -14_319];
    let shorts = shorts.as_mut_ptr().cast();
    assert_eq!(at(shorts, NumberKind::Signed, 2, 1, Numbers::Fractions, 1.0)[0], -5882.0 / 32_767.0);
    // 16-bit numbers stay such.
    let mut halves = [0x3111_u16, 0x3a22];
    let halves = halves.as_mut_ptr().cast();
    assert_eq!(at(halves, NumberKind::Float, 2, 1, Numbers::Plain, 0.75)[0], 0.310_302_73);
    // 32-bit numbers are cut to a few bits more than those of the larger one.
    let mut numbers = [0.7_f32, 0.001];
    let numbers = numbers.as_mut_ptr().cast();
    assert_eq!(at(numbers, NumberKind::Float, 4, 1, Numbers::Plain, 1.4)[0], 0.071_992_18);
    // The first colour is cut, because the others of the pair are larger. Alone it is not.
    let mut colours = [20_u8, 27, 34, 41, 48, 55, 62, 69];
    let colours = colours.as_mut_ptr();
    let colour = |x| at(colours, NumberKind::Unsigned, 1, 4, Numbers::Colours, x);
    assert_eq!(colour(0.5)[..3], [0.007_019_043, 0.010_986_328, 0.015_991_211]);
    assert_eq!(colour(0.75)[..3], [0.012_512_207, 0.017_761_23, 0.023_925_781]);
    assert_eq!(colour(1.0)[3], 14_135.0 / 65_535.0);
}

#[test]
fn no_coordinate_reads_outside_of_the_image() {
    const ODD: [f32; 14] = [
        0.0,
        -0.0,
        0.5,
        1.0,
        -1.0,
        2.9,
        1e-40,
        16_777_216.0,
        9.3e18,
        f32::MAX,
        f32::MIN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
    ];
    let mut numbers = [0.0; 96];
    let (from, to) = (numbers.as_mut_ptr().cast::<u8>(), numbers.as_mut_ptr_range().end.cast::<u8>());
    for (geometry, size) in [
        (Geometry::Line, [5, 1, 1]),
        (Geometry::Planes, [5, 3, 6]),
        (Geometry::Solid, [3, 2, 5]),
        (Geometry::Cube, [4, 4, 6]),
        (Geometry::Cubes, [1, 1, 12]),
    ] {
        for address in [Address::Wrap, Address::Clamp, Address::Mirror, Address::Border] {
            for flags in 0..8 {
                let [linear, normalized, seamless] = [1, 2, 4].map(|bit| flags & bit != 0);
                let texture = line(&mut [0.0; 4], address, linear, normalized);
                let (pitch, slice) = (size[0] * 4, size[0] * size[1] * 4);
                let image =
                    Image { host: from, geometry: Some(geometry), size, pitch, slice, ..texture.image };
                let smaller = vec![Image { size: size.map(|it| if it % 6 == 0 { it } else { 1 }), ..image }];
                let levels = LevelRule { bias: f32::NAN, range: [f32::NAN, f32::INFINITY], ..texture.levels };
                let texture = Texture { image, smaller, levels, seamless, ..texture };
                for (n, x) in ODD.into_iter().enumerate() {
                    for y in ODD {
                        let given = operands(&[x, y, ODD[n / 2], x, y, x, y, x, y, x, y]);
                        let level = [LevelBy::Number, LevelBy::Derivatives][n % 2];
                        let mut note = |at| assert!((from..to).contains(&at), "{x} {y} of {texture:?}");
                        texture.read(Read { level, ..floats(geometry) }, &given, &mut note).unwrap();
                    }
                }
            }
        }
    }
}
