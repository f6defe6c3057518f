//! The LaTeX commands for signs in formulas.

const COMMANDS: [(char, &str); 77] = [
    ('α', "alpha"),
    ('β', "beta"),
    ('γ', "gamma"),
    ('δ', "delta"),
    ('ε', "epsilon"),
    ('ϵ', "epsilon"),
    ('ζ', "zeta"),
    ('η', "eta"),
    ('θ', "theta"),
    ('ι', "iota"),
    ('κ', "kappa"),
    ('λ', "lambda"),
    ('μ', "mu"),
    ('ν', "nu"),
    ('ξ', "xi"),
    ('π', "pi"),
    ('ρ', "rho"),
    ('σ', "sigma"),
    ('τ', "tau"),
    ('υ', "upsilon"),
    ('φ', "phi"),
    ('ϕ', "phi"),
    ('χ', "chi"),
    ('ψ', "psi"),
    ('ω', "omega"),
    ('Γ', "Gamma"),
    ('Δ', "Delta"),
    ('Θ', "Theta"),
    ('Λ', "Lambda"),
    ('Ξ', "Xi"),
    ('Π', "Pi"),
    ('Σ', "Sigma"),
    ('Φ', "Phi"),
    ('Ψ', "Psi"),
    ('Ω', "Omega"),
    ('∞', "infty"),
    ('±', "pm"),
    ('∓', "mp"),
    ('×', "times"),
    ('÷', "div"),
    ('⋅', "cdot"),
    ('∙', "cdot"),
    ('≤', "leq"),
    ('≥', "geq"),
    ('≠', "neq"),
    ('≈', "approx"),
    ('≡', "equiv"),
    ('∼', "sim"),
    ('∝', "propto"),
    ('→', "rightarrow"),
    ('←', "leftarrow"),
    ('↔', "leftrightarrow"),
    ('⇒', "Rightarrow"),
    ('⇐', "Leftarrow"),
    ('⇔', "Leftrightarrow"),
    ('∂', "partial"),
    ('∇', "nabla"),
    ('∈', "in"),
    ('∉', "notin"),
    ('⊂', "subset"),
    ('⊆', "subseteq"),
    ('∪', "cup"),
    ('∩', "cap"),
    ('∅', "emptyset"),
    ('∀', "forall"),
    ('∃', "exists"),
    ('¬', "neg"),
    ('∧', "wedge"),
    ('∨', "vee"),
    ('∑', "sum"),
    ('∏', "prod"),
    ('∫', "int"),
    ('√', "sqrt"),
    ('…', "dots"),
    ('⋯', "cdots"),
    ('∘', "circ"),
    ('ℏ', "hbar"),
];

/// The command of a sign, without its backslash.
pub(super) fn command(sign: char) -> Option<&'static str> {
    COMMANDS.iter().find(|(known, _)| *known == sign).map(|(_, command)| *command)
}

/// The command of a large operator such as a sum.
pub(super) fn operator(sign: &str) -> String {
    let known = match sign {
        "∑" => "\\sum",
        "∏" => "\\prod",
        "∐" => "\\coprod",
        "∬" => "\\iint",
        "∭" => "\\iiint",
        "∮" => "\\oint",
        "⋃" => "\\bigcup",
        "⋂" => "\\bigcap",
        "∫" | "" => "\\int",
        other => other,
    };
    known.to_owned()
}

/// The command of a function with a name.
pub(super) fn function(name: &str) -> Option<&'static str> {
    Some(match name {
        "sin" => "\\sin",
        "cos" => "\\cos",
        "tan" => "\\tan",
        "cot" => "\\cot",
        "sinh" => "\\sinh",
        "cosh" => "\\cosh",
        "tanh" => "\\tanh",
        "arcsin" => "\\arcsin",
        "arccos" => "\\arccos",
        "arctan" => "\\arctan",
        "log" => "\\log",
        "ln" => "\\ln",
        "exp" => "\\exp",
        "lim" => "\\lim",
        "max" => "\\max",
        "min" => "\\min",
        "sup" => "\\sup",
        "inf" => "\\inf",
        "det" => "\\det",
        _ => return None,
    })
}

/// The command of a mark over a letter.
pub(super) fn accent(mark: &str) -> &'static str {
    match mark {
        "\u{303}" | "~" => "\\tilde",
        "\u{304}" | "\u{305}" | "¯" => "\\bar",
        "\u{307}" => "\\dot",
        "\u{308}" => "\\ddot",
        "\u{20d7}" | "→" => "\\vec",
        "\u{301}" => "\\acute",
        "\u{300}" => "\\grave",
        "\u{30c}" => "\\check",
        _ => "\\hat",
    }
}
