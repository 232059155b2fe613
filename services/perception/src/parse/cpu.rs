//! CPU features that decide which model variant is used.

/// Returns whether the CPU multiplies bytes with 32-bit accumulation (VNNI). Older CPUs add pairs in 16 bits, which can
/// overflow.
#[cfg(target_arch = "x86_64")]
pub(super) fn has_vnni() -> bool {
    let wide = std::arch::is_x86_feature_detected!("avx512vnni");
    let narrow = std::arch::is_x86_feature_detected!("avxvnni");
    wide || narrow
}

/// Returns false: int8 has not been measured on other architectures.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn has_vnni() -> bool {
    false
}
