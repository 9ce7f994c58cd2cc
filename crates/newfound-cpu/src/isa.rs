//! Which vector instructions this processor has.

/// A family of vector instructions the kernels are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Isa {
    /// 32 registers of 16 floats.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// 16 registers of 8 floats, with fused multiply–add.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 32 registers of 4 floats.
    #[cfg(target_arch = "aarch64")]
    Neon,
    /// Whatever the compiler makes of plain arrays.
    Portable,
}

impl Isa {
    /// The families this processor can run, the fastest first.
    pub(crate) fn available() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let fast = [
            is_x86_feature_detected!("avx512f").then_some(Self::Avx512),
            (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"))
                .then_some(Self::Avx2),
        ];
        #[cfg(target_arch = "aarch64")]
        let fast = [std::arch::is_aarch64_feature_detected!("neon").then_some(Self::Neon)];
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let fast: [Option<Self>; 0] = [];
        fast.into_iter().flatten().chain([Self::Portable])
    }

    /// The fastest family this processor can run.
    pub(crate) fn best() -> Self {
        // Detection is cached by the standard library; this costs a few atomic loads.
        Self::available()
            .next()
            .expect("the portable family is always available")
    }
}

/// Compiles a plain loop once per instruction family and calls the version this processor runs best.
///
/// The loops contain no sum over a vectorised index, so wider registers change no result: each number is
/// computed by the same operations in every version (Rust never fuses a multiplication with an addition
/// by itself).
macro_rules! vectorised {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block) => {
        $(#[$meta])*
        #[allow(clippy::too_many_arguments)]
        $vis fn $name($($arg: $ty),*) {
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            fn body($($arg: $ty),*) $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
            #[allow(clippy::too_many_arguments)]
            fn avx512($($arg: $ty),*) { body($($arg),*) }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            #[allow(clippy::too_many_arguments)]
            fn avx2($($arg: $ty),*) { body($($arg),*) }

            #[cfg(target_arch = "x86_64")]
            {
                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512dq")
                {
                    // SAFETY: all features the function is compiled for were detected just above.
                    return unsafe { avx512($($arg),*) };
                }
                if is_x86_feature_detected!("avx2") {
                    // SAFETY: the feature the function is compiled for was detected just above.
                    return unsafe { avx2($($arg),*) };
                }
            }
            body($($arg),*)
        }
    };
}
pub(crate) use vectorised;
