//! Special registers: those that the hardware sets, and that no text declares.

macro_rules! specials {
    ($($(#[$doc:meta])* $name:ident $word:literal $kind:ident,)*) => {
        /// A special register.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Special {
            $($(#[$doc])* #[doc = concat!("`", $word, "`")] $name,)*
            /// `%envreg0` to `%envreg31`.
            Envreg(u8),
            /// `%pm0` to `%pm7`.
            Pm(u8),
            /// `%pm0_64` to `%pm7_64`.
            Pm64(u8),
        }

        impl Special {
            /// Those without a number.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the special register of a name, which has its `%` and no part.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($word => Some(Self::$name),)*
                    _ => Self::numbered(name),
                }
            }

            /// Returns its name.
            #[must_use]
            pub fn name(self) -> String {
                match self {
                    $(Self::$name => $word.to_owned(),)*
                    Self::Envreg(number) => format!("%envreg{number}"),
                    Self::Pm(number) => format!("%pm{number}"),
                    Self::Pm64(number) => format!("%pm{number}_64"),
                }
            }

            /// Returns whether it has the parts `.x`, `.y` and `.z`.
            #[must_use]
            pub fn has_parts(self) -> bool {
                match self {
                    $(Self::$name => specials!(@ $kind),)*
                    Self::Envreg(_) | Self::Pm(_) | Self::Pm64(_) => false,
                }
            }
        }
    };
    (@ parts) => { true };
    (@ one) => { false };
}

specials! {
    Tid "%tid" parts,
    Ntid "%ntid" parts,
    Ctaid "%ctaid" parts,
    Nctaid "%nctaid" parts,
    ClusterCtaid "%cluster_ctaid" parts,
    ClusterNctaid "%cluster_nctaid" parts,
    Clusterid "%clusterid" parts,
    Nclusterid "%nclusterid" parts,
    ClusterCtarank "%cluster_ctarank" one,
    ClusterNctarank "%cluster_nctarank" one,
    /// The only one that is a predicate.
    IsExplicitCluster "%is_explicit_cluster" one,
    Laneid "%laneid" one,
    Warpid "%warpid" one,
    Nwarpid "%nwarpid" one,
    Smid "%smid" one,
    Nsmid "%nsmid" one,
    Gridid "%gridid" one,
    Clock "%clock" one,
    ClockHi "%clock_hi" one,
    Clock64 "%clock64" one,
    Globaltimer "%globaltimer" one,
    GlobaltimerLo "%globaltimer_lo" one,
    GlobaltimerHi "%globaltimer_hi" one,
    LanemaskEq "%lanemask_eq" one,
    LanemaskLe "%lanemask_le" one,
    LanemaskLt "%lanemask_lt" one,
    LanemaskGe "%lanemask_ge" one,
    LanemaskGt "%lanemask_gt" one,
    TotalSmemSize "%total_smem_size" one,
    AggrSmemSize "%aggr_smem_size" one,
    DynamicSmemSize "%dynamic_smem_size" one,
    ReservedSmemOffsetBegin "%reserved_smem_offset_begin" one,
    ReservedSmemOffsetEnd "%reserved_smem_offset_end" one,
    ReservedSmemOffsetCap "%reserved_smem_offset_cap" one,
    ReservedSmemOffset0 "%reserved_smem_offset_0" one,
    ReservedSmemOffset1 "%reserved_smem_offset_1" one,
    CurrentGraphExec "%current_graph_exec" one,
}

impl Special {
    fn numbered(name: &str) -> Option<Self> {
        let number = |digits: &str, end: u8| {
            let is_plain = digits == "0" || !digits.starts_with(['0', '+']);
            digits.parse().ok().filter(|number: &u8| is_plain && *number < end)
        };
        if let Some(digits) = name.strip_prefix("%envreg") {
            return number(digits, 32).map(Self::Envreg);
        }
        let digits = name.strip_prefix("%pm")?;
        match digits.strip_suffix("_64") {
            Some(digits) => number(digits, 8).map(Self::Pm64),
            None => number(digits, 8).map(Self::Pm),
        }
    }
}
