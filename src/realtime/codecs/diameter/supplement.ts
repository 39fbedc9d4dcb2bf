/**
 * AVPs that the package `diameter` lacks, or defines with a name or type that differs from the
 * specification: RFC 8506 section 8, 3GPP TS 32.299 section 7.2; and what it does not say of AVPs:
 * which hold binary data, and which may occur once.
 */
import { type AvpEntry, type AvpKind, entryOf } from './avp-entry.ts'
import { laterAvps } from './later-avps.ts'

const TGPP = 10415

export const supplement: readonly AvpEntry[] = [
  ...laterAvps,
  ietf(279, 'Failed-AVP', 'Grouped', true),
  ietf(301, 'DRMP', 'Integer32'),
  ietf(438, 'Restriction-Filter-Rule', 'OctetString', true),
  ietf(653, 'User-Equipment-Info-Extension', 'Grouped'),
  ietf(654, 'User-Equipment-Info-IMEISV'),
  ietf(655, 'User-Equipment-Info-MAC', 'Binary'),
  ietf(656, 'User-Equipment-Info-EUI64', 'Binary'),
  ietf(657, 'User-Equipment-Info-ModifiedEUI64', 'Binary'),
  ietf(658, 'User-Equipment-Info-IMEI'),
  ietf(659, 'Subscription-Id-Extension', 'Grouped'),
  ietf(660, 'Subscription-Id-E164'),
  ietf(661, 'Subscription-Id-IMSI'),
  ietf(662, 'Subscription-Id-SIP-URI'),
  ietf(663, 'Subscription-Id-NAI'),
  ietf(664, 'Subscription-Id-Private'),
  ietf(665, 'Redirect-Server-Extension', 'Grouped'),
  ietf(666, 'Redirect-Address-IPAddress', 'IPAddress'),
  ietf(667, 'Redirect-Address-URL'),
  ietf(668, 'Redirect-Address-SIP-URI'),
  ietf(669, 'QoS-Final-Unit-Indication', 'Grouped'),
  tgpp(5, '3GPP-GPRS-Negotiated-QoS-Profile'),
  tgpp(837, 'Application-Provided-Called-Party-Address'),
  tgpp(843, 'SDP-Media-Component', 'Grouped'),
  tgpp(851, 'Trunk-Group-Id', 'Grouped'),
  tgpp(852, 'Incoming-Trunk-Group-Id'),
  tgpp(853, 'Outgoing-Trunk-Group-Id'),
  tgpp(855, 'Service-Id'),
  tgpp(1082, 'Credit-Management-Status', 'Unsigned32'),
  tgpp(1201, 'Recipient-Address', 'Grouped'),
  tgpp(1256, 'Service-Generic-Information', 'Grouped'),
  tgpp(2008, 'Originator-SCCP-Address', 'IPAddress'),
  tgpp(2019, 'Number-Of-Messages-Sent', 'Unsigned32'),
  tgpp(2026, 'Recipient-Info', 'Grouped'),
  tgpp(2027, 'Originator-Received-Address', 'Grouped'),
  tgpp(2050, 'PDN-Connection-Charging-ID', 'Unsigned32'),
  tgpp(2603, 'IP-Realm-Default-Indication', 'Integer32'),
  tgpp(2604, 'Local-GW-Inserted-Indication', 'Integer32'),
  tgpp(2605, 'Transcoder-Inserted-Indication', 'Integer32'),
  tgpp(2812, 'User-Location-Info-Time', 'Time'),
  tgpp(3406, 'MTC-IWF-Address', 'IPAddress'),
  tgpp(3425, 'ePDG-Address', 'IPAddress'),
  tgpp(3904, 'Announcement-Information', 'Grouped'),
]

/**
 * Binary AVPs of the package, by vendor: 3GPP TS 29.061 section 16.4.7, TS 32.299 section 7.2,
 * TS 29.272 section 7.3. The code counts; the name is for readers.
 */
export const binaryAvps: Readonly<Record<number, string>> = {
  0: `
    24 State, 25 Class, 33 Proxy-State, 60 CHAP-Challenge, 97 Framed-IPv6-Prefix,
    98 Login-IPv6-Host, 123 Delegated-IPv6-Prefix`,
  [TGPP]: `
    2 3GPP-Charging-Id, 14 3GPP-CG-IPv6-Address, 15 3GPP-SGSN-IPv6-Address,
    16 3GPP-GGSN-IPv6-Address, 17 3GPP-IPv6-DNS-Server, 19 3GPP-Teardown-Indicator,
    21 3GPP-RAT-Type, 22 3GPP-User-Location-Info, 23 3GPP-MS-TimeZone,
    24 3GPP-CAMEL-Charging-Info, 25 3GPP-Packet-Filter, 26 3GPP-Negotiated-DSCP,
    27 3GPP-Allocate-IP-Type, 1242 Location-Estimate, 1245 Positioning-Data, 1407 Visited-PLMN-Id,
    1489 SGSN-Number, 1602 E-UTRAN-Cell-Global-Identity, 1603 Tracking-Area-Identity,
    1604 Cell-Global-Identity, 1605 Routing-Area-Identity, 1606 Location-Area-Identity,
    1607 Service-Area-Identity, 1608 Geographical-Information, 1609 Geodetic-Information,
    2013 SM-Protocol-ID, 2014 SM-Status, 2015 SM-User-Data-Header, 2022 Refund-Information,
    2400 LMSI, 2403 MSC-Number, 2515 Velocity-Estimate, 2516 EUTRAN-Positioning-Data, 2517 ECGI,
    2820 Presence-Reporting-Area-Elements-List`,
}

const UNITS = `Tariff-Change-Usage, Tariff-Time-Change, CC-Time, CC-Money, CC-Total-Octets,
  CC-Input-Octets, CC-Output-Octets, CC-Service-Specific-Units`

/**
 * AVPs of the IETF that may occur at most once in a request, and in the groups that charging reads:
 * RFC 8506 sections 3.1 and 8. At most 32 in each, with codes below 512.
 */
export const onceIn: Readonly<Record<string, string>> = {
  'Credit-Control-Request': `Session-Id, Auth-Application-Id, CC-Request-Type, CC-Request-Number,
    Origin-Host, Origin-Realm, Destination-Realm, Destination-Host, Service-Context-Id, User-Name,
    CC-Sub-Session-Id, Accounting-Multi-Session-Id, Origin-State-Id, Event-Timestamp,
    Service-Identifier, Termination-Cause, Requested-Service-Unit, Requested-Action,
    Multiple-Services-Indicator, CC-Correlation-Id, User-Equipment-Info`,
  'Multiple-Services-Credit-Control': `Granted-Service-Unit, Requested-Service-Unit,
    Tariff-Change-Usage, Rating-Group, Validity-Time, Result-Code, Final-Unit-Indication`,
  'Requested-Service-Unit': UNITS,
  'Used-Service-Unit': UNITS,
  'Granted-Service-Unit': UNITS,
  'Subscription-Id': 'Subscription-Id-Type, Subscription-Id-Data',
  'CC-Money': 'Unit-Value, Currency-Code',
  'Unit-Value': 'Value-Digits, Exponent',
}

/** Those that a request must have, in the order in which they are checked. */
export const requiredInRequest = `Session-Id, Origin-Host, Origin-Realm, Destination-Realm,
  Auth-Application-Id, Service-Context-Id, CC-Request-Type`

function ietf(
  code: number,
  name: string,
  kind: AvpKind = 'OctetString',
  mandatory = false,
): AvpEntry {
  return entryOf(code, name, 0, kind, mandatory)
}

/** All AVPs of 3GPP have the M flag. */
function tgpp(code: number, name: string, kind: AvpKind = 'OctetString'): AvpEntry {
  return entryOf(code, name, TGPP, kind, true)
}
