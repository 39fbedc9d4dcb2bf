/**
 * AVPs that the package `diameter` lacks, or defines with a name or type that differs from the
 * specification: RFC 8506 section 8, 3GPP TS 32.299 section 7.2.
 */
import type { AvpEntry, AvpType } from './avp-entry.ts'
import { laterAvps } from './later-avps.ts'

const TGPP = 10415

export const supplement: readonly AvpEntry[] = [
  ...laterAvps,
  ietf(279, 'Failed-AVP', 'Grouped', true),
  ietf(301, 'DRMP', 'Integer32'),
  ietf(438, 'Restriction-Filter-Rule', 'OctetString', true),
  ietf(653, 'User-Equipment-Info-Extension', 'Grouped'),
  ietf(654, 'User-Equipment-Info-IMEISV'),
  ietf(655, 'User-Equipment-Info-MAC'),
  ietf(656, 'User-Equipment-Info-EUI64'),
  ietf(657, 'User-Equipment-Info-ModifiedEUI64'),
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

function ietf(
  code: number,
  name: string,
  type: AvpType = 'OctetString',
  mandatory = false,
): AvpEntry {
  return { code, name, vendorId: 0, type, flags: { mandatory } }
}

/** All AVPs of 3GPP have the M flag. */
function tgpp(code: number, name: string, type: AvpType = 'OctetString'): AvpEntry {
  return { code, name, vendorId: TGPP, type, flags: { mandatory: true } }
}
