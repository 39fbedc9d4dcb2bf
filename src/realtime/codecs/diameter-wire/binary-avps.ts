/**
 * OctetStrings that hold binary data, even if their bytes are printable: 3GPP TS 29.061 section
 * 16.4.7, TS 32.299 section 7.2, TS 29.272 section 7.3, RFC 8506 section 8.
 */
import { avpByCode } from '../diameter/dictionary.ts'

const TGPP = 10415

const OF_IETF: readonly number[] = [
  // Framed-Interface-Id, Framed-IPv6-Prefix, Login-IPv6-Host, Delegated-IPv6-Prefix
  96, 97, 98, 123,
  // Class, State, Proxy-State, CHAP-Challenge; of RFC 8506 User-Equipment-Info-MAC and the EUI64s
  24, 25, 33, 60, 655, 656, 657,
]

const OF_3GPP: readonly number[] = [
  // 3GPP-Charging-Id, CG, SGSN and GGSN IPv6 address, IPv6-DNS-Servers
  2, 14, 15, 16, 17,
  // Teardown-Indicator, RAT-Type, User-Location-Info, MS-TimeZone, CAMEL-Charging-Info,
  // Packet-Filter, Negotiated-DSCP, Allocate-IP-Type, TWAN-Identifier
  19, 21, 22, 23, 24, 25, 26, 27, 29,
  // Access-Network-Charging-Identifier-Value, MSISDN
  503, 701,
  // TMGI, MBMS-Service-Area, -Session-Duration, -Session-Identity, Additional-MBMS-Trace-Info
  900, 903, 904, 908, 910,
  // MBMS-Time-To-Data-Transfer, -Session-Repetition-Number, addresses and ports of MBMS
  911, 912, 916, 917, 918, 919, 920, 925, 926, 927, 934,
  // LMSI, Location-Estimate, Positioning-Data, Velocity-Estimate, EUTRAN-Positioning-Data, ECGI
  2400, 1242, 1245, 2515, 2516, 2517,
  // SM-Protocol-ID, SM-Status, SM-User-Data-Header
  2013, 2014, 2015,
  // SGSN-Number, MSC-Number (digits as semi-octets)
  1489, 2403,
  // E-UTRAN-Cell-Global-Identity to Geodetic-Information, Visited-PLMN-Id
  1602, 1603, 1604, 1605, 1606, 1607, 1608, 1609, 1407,
  // Secondary-RAT-Type, Refund-Information, Presence-Reporting-Area-Elements-List
  1304, 2022, 2820,
  // RAN-NAS-Release-Cause, Max-PLR-DL and -UL (floating point)
  2819, 2852, 2853,
  // Bearer-Capability, Teleservice, ISUP-Location-Number, MSC-Address
  3412, 3413, 3414, 3417,
  // Network-Call-Reference-Number, VLR-Number, ISUP-Cause-Diagnostics and -Location
  3418, 3420, 3422, 3423,
  // Layer-2-Group-ID, ProSe-UE-to-Network-Relay-UE-ID, ProSe-Target-Layer-2-ID
  3429, 4409, 4410,
  // ProSe-UE-ID, Application-Specific-Data, Radio-Frequency, Radio-Parameter-Set-Values
  3453, 3458, 3462, 3464,
]

const codes: ReadonlyMap<number, ReadonlySet<number>> = new Map([
  [0, new Set(OF_IETF)],
  [TGPP, new Set(OF_3GPP)],
])

/** Whether the AVP is an OctetString with binary data. */
export function isBinary(code: number, vendor: number): boolean {
  const isListed = codes.get(vendor)?.has(code) === true
  return isListed && avpByCode(code, vendor)?.type === 'OctetString'
}
