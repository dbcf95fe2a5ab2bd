//! Which addresses the whole world can reach. What leads elsewhere leads to machines that trust whoever is near.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether the whole world can reach an address: not this machine, not the network around it, and
/// none that holds such an address inside.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Ranges that are not public: the first address, and how many bits of it count.
const V4_NOT_PUBLIC: [(Ipv4Addr, u32); 15] = [
    (Ipv4Addr::UNSPECIFIED, 8),           // this network, unspecified
    (Ipv4Addr::new(10, 0, 0, 0), 8),      // private
    (Ipv4Addr::new(100, 64, 0, 0), 10),   // behind the NAT of a carrier
    (Ipv4Addr::new(127, 0, 0, 0), 8),     // loopback
    (Ipv4Addr::new(169, 254, 0, 0), 16),  // link-local, and what clouds tell their machines
    (Ipv4Addr::new(172, 16, 0, 0), 12),   // private
    (Ipv4Addr::new(192, 0, 0, 0), 24),    // for protocols
    (Ipv4Addr::new(192, 0, 2, 0), 24),    // for documents
    (Ipv4Addr::new(192, 88, 99, 0), 24),  // relays to IPv6
    (Ipv4Addr::new(192, 168, 0, 0), 16),  // private
    (Ipv4Addr::new(198, 18, 0, 0), 15),   // for benchmarks
    (Ipv4Addr::new(198, 51, 100, 0), 24), // for documents
    (Ipv4Addr::new(203, 0, 113, 0), 24),  // for documents
    (Ipv4Addr::new(224, 0, 0, 0), 4),     // multicast
    (Ipv4Addr::new(240, 0, 0, 0), 4),     // kept for later, broadcast
];

fn is_public_v4(address: Ipv4Addr) -> bool {
    let inside = |(first, bits): &(Ipv4Addr, u32)| {
        (address.to_bits() ^ first.to_bits()).leading_zeros() >= *bits
    };
    !V4_NOT_PUBLIC.iter().any(inside)
}

/// Ranges within the public part of IPv6 that are not public.
const V6_NOT_PUBLIC: [(Ipv6Addr, u32); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // for protocols; Teredo holds IPv4
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // for documents
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16), // 6to4 holds IPv4
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // for documents
];

fn is_public_v6(address: Ipv6Addr) -> bool {
    let inside = |(first, bits): &(Ipv6Addr, u32)| {
        (address.to_bits() ^ first.to_bits()).leading_zeros() >= *bits
    };
    // All that is given out. Loopback, private and link-local addresses, multicast and those that hold
    // an IPv4 address (mapped, compatible, translated) are elsewhere.
    let given_out = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
    inside(&given_out) && !V6_NOT_PUBLIC.iter().any(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn only_what_the_whole_world_can_reach_is_public() {
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.0.1",
            "172.32.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:200::1",
            "2a00::1",
        ] {
            assert!(is_public(address(public)), "{public}");
        }
        for private in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.8.8.8",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.168.1.1",
            "198.19.0.1",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "192.0.2.1",
            "::",
            "::1",
            "::ffff:1.1.1.1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::1.1.1.1",
            "64:ff9b:1::1",
            "100::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "3fff::1",
            "5f00::1",
        ] {
            assert!(!is_public(address(private)), "{private}");
        }
    }
}
