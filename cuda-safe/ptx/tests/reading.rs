//! What the reader makes of a text: the tricks of names, numbers, comments and directives, and its errors.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

use cuda_ptx::directive::{HEADER, is_in};
use cuda_ptx::{
    Constant, Entity, Initial, Instruction, Module, Operand, Part, Special, Statement, begins_as_ptx,
    is_plain, parse, read,
};

const HEAD: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";

/// Puts statements into a kernel, whose first line is the fourth one.
fn kernel(statements: &str) -> String {
    format!("{HEAD}.entry k(.param .u64 p) {{ .reg .pred %p<4>; .reg .b32 %r<8>, one; {statements} }}")
}

fn instructions<'m, 'a>(module: &'m Module<'a>) -> Vec<&'m Instruction<'a>> {
    let statements = module.functions.iter().filter_map(|it| it.body.as_ref()).flat_map(|it| &it.statements);
    let instruction = |it: &'m Statement<'a>| match it {
        Statement::Instruction(it) => Some(it),
        _ => None,
    };
    statements.filter_map(instruction).collect()
}

/// Returns what the names in the last instruction of a kernel with these statements stand for.
fn names(statements: &str) -> Vec<Entity> {
    let text = kernel(statements);
    let module = parse(&text).unwrap_or_else(|error| panic!("{statements}: {error}"));
    let mut found = Vec::new();
    let all = instructions(&module);
    let mut visit = |name: &cuda_ptx::Name<'_>| found.push(name.entity);
    all.last().unwrap().operands.iter().for_each(|it| it.each_name(&mut |name| visit(name)));
    found
}

/// Returns the error of a kernel with these statements: the line, and the words.
fn error(statements: &str) -> String {
    let text = kernel(statements);
    parse(&text).expect_err(statements).to_string()
}

fn constants(operands: &str) -> Vec<Constant> {
    let text = kernel(&format!("x {operands};"));
    let module = parse(&text).unwrap_or_else(|error| panic!("{operands}: {error}"));
    let constant = |it: &Operand<'_>| match it {
        Operand::Constant(it) => *it,
        other => panic!("{other:?}"),
    };
    instructions(&module)[0].operands.iter().map(constant).collect()
}

#[test]
fn comments_strings_and_lines_end_where_ptxas_ends_them() {
    let opcodes = |statements: &str| -> String {
        let text = kernel(statements);
        let module = parse(&text).unwrap_or_else(|error| panic!("{statements:?}: {error}"));
        instructions(&module).iter().map(|it| it.opcode()).collect::<Vec<_>>().join(" ")
    };
    for (statements, left) in [
        ("/*/ a; /*/ b;", "b"),
        ("/***/ a; /**/ b;", "a b"),
        ("/* /* */ a; b;", "a b"),
        ("// a; \\\n b;", "b"),
        ("// a; \r b; \u{c} c;\n d;", "d"),
        ("/* // */ a;", "a"),
        (".pragma \"/*\"; a; .pragma \"*/\";", "a"),
        (".pragma \"\\\"; a; .pragma \"\";", "a"),
        ("\n# 1 \"x; \n\" 3\n a;", "a"),
        ("\n#line 1 \"x\"\n a;", "a"),
        ("a\r\x0c\t\n;", "a"),
        ("a ; ; ;; b;", "a b"),
    ] {
        assert_eq!(opcodes(statements), left, "{statements:?}");
    }
    for (statements, words) in [
        ("/* x", "a comment does not end"),
        (".pragma \"x; a;", "a string does not end"),
        ("\n#define x\n", "PTX line 5: unexpected '#'"),
        ("\n# 1 \"x\" a;\n", "unexpected '#'"),
        ("a \u{b};", "unexpected '\\u{b}'"),
        ("a é;", "unexpected 'é'"),
        ("a \\;", "unexpected '\\\\'"),
        ("st. global;", "unexpected '.'"),
    ] {
        let found = error(statements);
        assert!(found.contains(words), "{statements:?}: {found}");
    }
    // The driver reads up to a zero byte.
    assert_eq!(parse(&format!("{HEAD}\0.entry")).unwrap().functions.len(), 0);
}

#[test]
fn a_name_is_found_as_ptxas_finds_it() {
    use Entity::{Label, Local, Parameter, Register};
    for (statements, found) in [
        ("mov %r1, %r01;", vec![Register(1), Register(1)]),
        ("mov %r1, %r8;", vec![Register(1), Entity::Undeclared]),
        ("mov %tid.x, %pm7_64;", vec![Entity::Special(Special::Tid), Entity::Special(Special::Pm64(7))]),
        ("mov one, p;", vec![Register(0), Parameter(0)]),
        ("mov k, _; mov WARP_SZ, unknown;", vec![Entity::WarpSize, Entity::Undeclared]),
        ("mov k;", vec![Entity::Function(0)]),
        // The innermost scope, and the declarations in front of the use.
        ("{ .reg .b32 one; mov one; }", vec![Register(1)]),
        ("{ mov one; .reg .b32 one; } mov one;", vec![Register(0)]),
        ("{ .reg .b32 one; } mov one;", vec![Register(0)]),
        ("{ .reg .b32 %r<2>; x %r1; mov %r1, %r2; }", vec![Register(1), Register(2)]),
        ("{ .reg .b32 %r1; mov %r1, %r01; }", vec![Register(1), Register(2)]),
        ("{ .shared .b32 p; mov p; }", vec![Local(0)]),
        // The digits of a family's name are digits of a number.
        ("{ .reg .b32 %q1<9>; mov %q12; }", vec![Entity::Undeclared]),
        // A label may come later. Then the innermost scope that has it counts.
        ("bra end; end: ; bra end;", vec![Label(0)]),
        ("{ a: } { bra a; a: }", vec![Label(1)]),
        ("a: { bra a; a: }", vec![Label(1)]),
        ("a: { bra a; }", vec![Label(0)]),
        ("{ a: } bra a;", vec![Entity::Undeclared]),
        ("{ bra one; one: }", vec![Register(0)]),
        ("one2: { .reg .b32 one2; bra one2; }", vec![Register(1)]),
        ("t: .branchtargets a, a; brx.idx one, t; a:", vec![Register(0), Entity::List(0)]),
        ("q: .callprototype _ (.param .b32 _); call one, q;", vec![Register(0), Entity::Prototype(0)]),
        // A register, and not the kernel.
        ("{ .reg .b64 k; call k; }", vec![Register(1)]),
    ] {
        assert_eq!(names(statements), found, "{statements}");
    }
    let text = kernel("mov %tid.z, one.r, one.b3, %ctaid .y;");
    let module = parse(&text).unwrap();
    let mut parts = Vec::new();
    instructions(&module)[0].operands.iter().for_each(|it| it.each_name(&mut |name| parts.extend(name.part)));
    assert_eq!(parts, [Part::Element(2), Part::Element(0), Part::Lanes("b3"), Part::Element(1)]);
}

#[test]
fn names_outside_of_functions_are_found() {
    let text = format!(
        "{HEAD}.extern .func f; .extern .global .b32 x; .global .b32 x = 1; .global .u64 y = generic(x)+4;
         .func f {{ ret; }} .func g {{ ret; }} .alias h, g; .entry k {{ call f; call h; ld [x]; mov x.y; }}"
    );
    let module = parse(&text).unwrap();
    let mut found = Vec::new();
    for it in instructions(&module) {
        it.operands.iter().for_each(|it| it.each_name(&mut |name| found.push(name.entity)));
    }
    assert_eq!(found, [Entity::Function(1), Entity::Alias(0), Entity::Variable(1), Entity::Variable(1)]);
    assert_eq!(module.aliases[0].1.entity, Entity::Function(2));
    let Some(Initial::Address { name, offset: 4, is_generic: true, mask: None }) =
        &module.variables[2].initial
    else {
        panic!("{:?}", module.variables[2]);
    };
    assert_eq!(name.entity, Entity::Variable(1));
}

/// ptxas takes such a register for either, in one kernel.
#[test]
fn a_name_that_is_declared_and_special_is_ambiguous() {
    let ambiguous = |statements: &str| {
        let text = kernel(statements);
        let module = parse(&text).unwrap_or_else(|error| panic!("{statements}: {error}"));
        module.functions[0].body.as_ref().unwrap().ambiguous.join(" ")
    };
    for (statements, names) in [
        (".reg .b32 %laneid;", "%laneid"),
        (".reg .b64 %envreg<3>; mov %envreg2, %envreg1;", "%envreg2 %envreg1"),
        (".reg .v4 .b32 %tid;", "%tid"),
        (".shared .b32 %clock;", "%clock"),
        ("%smid:", "%smid"),
        ("{ .reg .b32 %pm<9>; mov one, %pm7; }", "%pm7"),
        (".reg .b32 _, WARP_SZ;", "_ WARP_SZ"),
        (".reg .b32 %q<3>; x %q4294967298;", "%q4294967298"),
        (".reg .b64 %envreg<40>; mov %envreg33, 1;", ""),
    ] {
        assert_eq!(ambiguous(statements), names, "{statements}");
    }
    assert_eq!(names(".reg .b32 %laneid; mov %laneid;"), [Entity::Register(1)]);
}

#[test]
fn what_is_declared_twice_is_an_error_with_its_line() {
    for (statements, words) in [
        ("\n.reg .b32 one;", "PTX line 5: one is declared twice in one scope"),
        (".reg .b32 %r<3>;", "the registers %r<> are declared twice"),
        (".reg .b64 p;", "p is declared twice"),
        ("a: b: a:", "two labels of one scope are called a"),
        ("one: ", "PTX line 4: one is declared twice in one scope"),
    ] {
        let found = error(statements);
        assert!(found.contains(words), "{statements}: {found}");
    }
    for (text, words) in [
        (".func f { ret; }\n.func f { ret; }", "PTX line 5: f is defined twice, first on line 4"),
        (".global .b32 f; .func f { ret; }", "f is a variable and a function"),
        (".version 9.0", "found \".version\""),
        (".target sm_80", "found \".target\""),
    ] {
        let found = parse(&format!("{HEAD}{text}")).unwrap_err().to_string();
        assert!(found.contains(words), "{text}: {found}");
    }
}

#[test]
fn a_constant_has_the_width_at_which_it_is_used() {
    use Constant::{Double, Integer, Single};
    let numbers = "0, 017, 0x1F, 0X1f, 0b101, 5U, -5, ~5, 18446744073709551615, -0x8000000000000000";
    let values = [0, 15, 31, 31, 5, 5, -5, -6, (1 << 64) - 1, -(1 << 63)];
    assert_eq!(constants(numbers), values.map(Integer));
    assert_eq!(
        constants("0f3F800000, 0D3FF0000000000000, 1.5, 25e-1, -1.0, 007.5, -0d3FF0000000000000"),
        [
            Single(0x3f80_0000),
            Double(1.0_f64.to_bits()),
            Double(1.5_f64.to_bits()),
            Double(2.5_f64.to_bits()),
            Double((-1.0_f64).to_bits()),
            Double(7.5_f64.to_bits()),
            Double((-1.0_f64).to_bits()),
        ]
    );
    for (constant, width, bits) in [
        (Integer(-1), 32, Some(0xffff_ffff)),
        (Integer(-1), 64, Some(u64::MAX)),
        (Integer(0x1_2345_6789), 16, Some(0x6789)),
        (Integer(1), 128, None),
        (Single(7), 32, Some(7)),
        (Double(7), 64, Some(7)),
        // ptxas rounds the first, and takes the bits of the second.
        (Double(7), 32, None),
        (Single(7), 64, None),
    ] {
        assert_eq!(constant.bits(width), bits, "{constant:?} of {width} bits");
    }
    for number in [
        "08",
        "5u",
        "0x",
        "0b2",
        "1_0",
        "0f3F8000000",
        "0f3F80000",
        "0d0",
        "18446744073709551616",
        "1e999",
        "0xfg",
    ] {
        let found = error(&format!("x {number};"));
        assert!(found.contains(number) || found.contains("expected a number"), "{number}: {found}");
    }
}

#[test]
fn operands_of_all_forms_are_read() {
    let text = kernel("x %r1, [%r2+-4], [%r3], [8], p+16, {%r4, _}, (%r5), [%r6, {%r7, 1}], !%p1, %p2|%p3;");
    let module = parse(&text).unwrap();
    let forms: Vec<_> = instructions(&module)[0].operands.iter().collect();
    assert!(matches!(
        forms[..],
        [
            Operand::Name(_),
            Operand::Address(Some(_), -4),
            Operand::Address(Some(_), 0),
            Operand::Address(None, 8),
            Operand::Offset(_, 16),
            Operand::Vector(_),
            Operand::Arguments(_),
            Operand::Bracketed(_),
            Operand::Not(_),
            Operand::Pair(_),
        ]
    ));
    let deep = format!("x {}1{};", "{".repeat(17), "}".repeat(17));
    assert!(error(&deep).contains("expected fewer operands within operands"));
    assert!(error("x %r1 %r2;").contains("expected ',', found \"%r2\""));
    assert!(error("x 1").contains("expected ',', found '}'"));
}

#[test]
fn directives_linkage_attributes_and_initial_values_are_kept() {
    let text = format!(
        "{HEAD}.pragma \"nounroll\"; .weak .global .attribute(.managed) .align 16 .v2 .f32 m[3] = {{1.0}};
         .visible .entry k(.param .u64 .ptr .global .align 8 p)
         .blocksareclusters .reqntid 64, 2 .reqnctapercluster 2 .maxnreg 32 .pragma \"x 1\"; {{
             .pragma \"nounroll\";
             q: .callprototype (.param .b32 _) _ (.param .align 8 .b8 _[12]) .noreturn;
             .loc 1 7 3, function_name $n+5, inlined_at 2 8 1
             ret;
         }}"
    );
    let module = parse(&text).unwrap();
    let variable = &module.variables[0];
    assert!(variable.is_managed() && variable.linkage == cuda_ptx::Linkage::Weak);
    assert_eq!((variable.bytes(), variable.align()), (Some(24), 16));
    let kernel = &module.functions[0];
    let named: Vec<_> = kernel.directives.iter().map(|it| (it.name, &it.numbers[..])).collect();
    let expected: [(&str, &[u64]); 5] = [
        ("blocksareclusters", &[]),
        ("reqntid", &[64, 2]),
        ("reqnctapercluster", &[2]),
        ("maxnreg", &[32]),
        ("pragma", &[]),
    ];
    assert_eq!(named, expected);
    assert!(named[..4].iter().all(|(name, _)| is_in(HEADER, name)) && !is_in(HEADER, "of_tomorrow"));
    let pointee = kernel.parameters[0].pointee.unwrap();
    assert_eq!((pointee.space, pointee.align), (Some(cuda_ptx::Space::Global), Some(8)));
    let body = kernel.body.as_ref().unwrap();
    assert_eq!(body.prototypes[0].parameters[0].bytes(), Some(12));
    assert_eq!(body.prototypes[0].directives[0].name, "noreturn");
    let Statement::Location(location) = &body.statements[2] else { panic!("{:?}", body.statements) };
    assert_eq!((location.function, location.inlined_at), (Some(("$n", 5)), Some((2, 8, 1))));
    assert!(parse(".global .b8 x[18446744073709551615][2];").is_err());
}

#[test]
fn what_cannot_be_read_stops_its_statement_and_not_the_text() {
    let text = "
        .version 9.9
        .novelty .b32 x {1, 2};
        .entry a() { fabric.submit [%rd1] -> {%r1}; .layout 3; ret; }
        .entry b() .brandnew 4 { ret; }";
    let module = read(text);
    assert_eq!(module.errors.iter().map(|it| it.line).collect::<Vec<_>>(), [3, 4, 4]);
    let body = module.functions[0].body.as_ref().unwrap();
    assert!(matches!(
        body.statements[..],
        [Statement::Unread(_), Statement::Unread(_), Statement::Instruction(_)]
    ));
    assert_eq!(module.functions[1].directives[0].numbers, [4]);
    for text in ["}", "} .entry k {", ".entry k { a", ".entry k { { }", "{", ".global", ";;;", "@"] {
        assert_eq!(parse(text).is_err(), text != ";;;", "{text}");
    }
}

#[test]
fn the_first_signs_of_a_text_say_whether_it_is_ptx() {
    for text in ["// x\n /* .x */\n.version 9.0", ".version", "\r\n.version 8.0\u{ff}"] {
        assert!(begins_as_ptx(text.as_bytes()), "{text}");
    }
    for text in ["", "// .version", "/* .version", "version", "!.version", "\u{b}.version"] {
        assert!(!begins_as_ptx(text.as_bytes()), "{text}");
    }
    assert!(is_plain("a\tb\r\nc\n") && is_plain(""));
    for text in ["\\", "\r", "\u{c}", "é", "\0", "\u{7f}"] {
        assert!(!is_plain(text), "{text:?}");
    }
}
