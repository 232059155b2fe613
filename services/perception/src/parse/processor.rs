//! What this processor can do, as far as the choice of a model depends on it.

/// Whether the processor has instructions that multiply bytes and add the products up in 32 bits (VNNI). Older ones add
/// pairs in 16 bits, which can overflow.
#[cfg(target_arch = "x86_64")]
pub(super) fn multiplies_bytes() -> bool {
    std::arch::is_x86_feature_detected!("avx512vnni")
        || std::arch::is_x86_feature_detected!("avxvnni")
}

/// Not measured on other processors.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn multiplies_bytes() -> bool {
    false
}
