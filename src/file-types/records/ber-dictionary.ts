/**
 * Fields of charging data records by their tags, as TS 32.298 (release 15) defines them; those of
 * the GGSN are of earlier releases. What is not listed is named by its tags.
 */
import type { BerType } from './ber-values.ts'

/** `group`: a SEQUENCE or SET; `groups`, `addresses`: lists; `raw`: by its tags. */
export type BerFieldType = BerType | 'group' | 'groups' | 'addresses' | 'raw'

export interface BerField {
  readonly name: string
  readonly type: BerFieldType
  /** The fields of a group. */
  readonly fields: BerFields
}

/** By tag (context-specific). */
export type BerFields = ReadonlyMap<number, BerField>

export const NO_FIELDS: BerFields = new Map()

/** `NAME TYPE` by tag. */
type Row = `${string} ${BerFieldType}`
type Rows = Readonly<Record<number, Row>>

function fieldsOf(rows: Rows, groups: Readonly<Record<string, BerFields>> = {}): BerFields {
  return new Map(
    Object.entries(rows).map(([tag, row]) => {
      const [name = '', type] = row.split(' ') as [string, BerFieldType]
      return [Number(tag), { name, type, fields: groups[name] ?? NO_FIELDS }]
    }),
  )
}

const CAUSES: Rows = {
  0: 'gsm0408Cause integer',
  1: 'gsm0902MapErrorValue integer',
  2: 'itu-tQ767Cause integer',
  7: 'diameterResultCodeAndExperimentalResult integer',
}
const CAUSE = fieldsOf(CAUSES)

/** ChangeOfCharCondition. */
const TRAFFIC_VOLUME = fieldsOf({
  1: 'qosRequested hex',
  2: 'qosNegotiated hex',
  3: 'dataVolumeGPRSUplink integer',
  4: 'dataVolumeGPRSDownlink integer',
  5: 'changeCondition integer',
  6: 'changeTime time',
  8: 'userLocationInformation hex',
  10: 'chargingID integer',
  15: 'rATType integer',
})

/** ChangeOfServiceCondition. */
const SERVICE_DATA = fieldsOf(
  {
    1: 'ratingGroup integer',
    2: 'chargingRuleBaseName text',
    3: 'resultCode integer',
    4: 'localSequenceNumber integer',
    5: 'timeOfFirstUsage time',
    6: 'timeOfLastUsage time',
    7: 'timeUsage integer',
    8: 'serviceConditionChange hex',
    10: 'servingNodeAddress address',
    12: 'datavolumeFBCUplink integer',
    13: 'datavolumeFBCDownlink integer',
    14: 'timeOfReport time',
    16: 'failureHandlingContinue boolean',
    17: 'serviceIdentifier integer',
    20: 'userLocationInformation hex',
    21: 'eventBasedChargingInformation group',
    25: 'sponsorIdentity hex',
    26: 'applicationServiceProviderIdentity hex',
    27: 'aDCRuleBaseName text',
    30: 'rATType integer',
  },
  { eventBasedChargingInformation: fieldsOf({ 1: 'numberOfEvents integer' }) },
)

const RAN_USAGE = fieldsOf({
  1: 'dataVolumeUplink integer',
  2: 'dataVolumeDownlink integer',
  3: 'rANStartTime time',
  4: 'rANEndTime time',
  5: 'secondaryRATType integer',
  6: 'chargingID integer',
})

const LISTS = {
  diagnostics: CAUSE,
  listOfTrafficVolumes: TRAFFIC_VOLUME,
  listOfServiceData: SERVICE_DATA,
  listOfRANSecondaryRATUsageReports: RAN_USAGE,
  servedMNNAI: fieldsOf({ 0: 'subscriptionIDType integer', 1: 'subscriptionIDData text' }),
}

/** Common fields of the records of all gateways. */
const GATEWAY: Rows = {
  0: 'recordType integer',
  3: 'servedIMSI tbcd',
  5: 'chargingID integer',
  7: 'accessPointNameNI text',
  11: 'dynamicAddressFlag boolean',
  12: 'listOfTrafficVolumes groups',
  13: 'recordOpeningTime time',
  14: 'duration integer',
  15: 'causeForRecClosing integer',
  16: 'diagnostics group',
  17: 'recordSequenceNumber integer',
  18: 'nodeID text',
  20: 'localSequenceNumber integer',
  21: 'apnSelectionMode integer',
  22: 'servedMSISDN isdn',
  23: 'chargingCharacteristics hex',
  24: 'chChSelectionMode integer',
  25: 'iMSsignalingContext null',
  30: 'rATType integer',
  31: 'mSTimeZone hex',
  32: 'userLocationInformation hex',
}

/** Also of the SGW and the PGW. */
const EPC: Rows = {
  ...GATEWAY,
  6: 'servingNodeAddress addresses',
  8: 'pdpPDNType hex',
  9: 'servedPDPPDNAddress address',
  27: 'servingNodePLMNIdentifier hex',
  29: 'servedIMEI tbcd',
  37: 'p-GWPLMNIdentifier hex',
  38: 'startTime time',
  39: 'stopTime time',
}

const SGW = fieldsOf(
  {
    ...EPC,
    4: 's-GWAddress address',
    36: 'p-GWAddressUsed address',
    40: 'pDNConnectionChargingID integer',
    43: 'servedPDPPDNAddressExt address',
    64: 'listOfRANSecondaryRATUsageReports groups',
  },
  LISTS,
)

const PGW = fieldsOf(
  {
    ...EPC,
    4: 'p-GWAddress address',
    33: 'cAMELChargingInformation hex',
    34: 'listOfServiceData groups',
    36: 'servedMNNAI group',
    41: 'pDNConnectionChargingID integer',
    45: 'servedPDPPDNAddressExt address',
    73: 'listOfRANSecondaryRATUsageReports groups',
  },
  LISTS,
)

const GGSN: Rows = {
  ...GATEWAY,
  1: 'networkInitiation boolean',
  4: 'ggsnAddress address',
  6: 'sgsnAddress addresses',
  8: 'pdpType hex',
  9: 'servedPDPAddress address',
  26: 'externalChargingID hex',
  27: 'sgsnPLMNIdentifier hex',
  29: 'servedIMEISV tbcd',
  33: 'cAMELChargingInformation hex',
}

const SGSN = fieldsOf(
  {
    0: 'recordType integer',
    1: 'networkInitiation boolean',
    3: 'servedIMSI tbcd',
    4: 'servedIMEI tbcd',
    5: 'sgsnAddress address',
    10: 'chargingID integer',
    11: 'ggsnAddressUsed address',
    12: 'accessPointNameNI text',
    13: 'pdpType hex',
    14: 'servedPDPAddress address',
    15: 'listOfTrafficVolumes groups',
    16: 'recordOpeningTime time',
    17: 'duration integer',
    19: 'causeForRecClosing integer',
    20: 'diagnostics group',
    21: 'recordSequenceNumber integer',
    22: 'nodeID text',
    24: 'localSequenceNumber integer',
    25: 'apnSelectionMode integer',
    26: 'accessPointNameOI text',
    27: 'servedMSISDN isdn',
    28: 'chargingCharacteristics hex',
    29: 'rATType integer',
    38: 'servingNodePLMNIdentifier hex',
  },
  LISTS,
)

/** SMS of the SGSN or MME: what both directions have in common. */
const SGSN_SMS: Rows = {
  0: 'recordType integer',
  1: 'servedIMSI tbcd',
  2: 'servedIMEI tbcd',
  3: 'servedMSISDN isdn',
  5: 'serviceCentre isdn',
  6: 'recordingEntity isdn',
}

const SGSN_SMS_MO = fieldsOf(
  {
    ...SGSN_SMS,
    10: 'messageReference hex',
    11: 'eventTimeStamp time',
    12: 'smsResult group',
    14: 'nodeID text',
    15: 'localSequenceNumber integer',
    16: 'chargingCharacteristics hex',
    17: 'rATType integer',
    18: 'destinationNumber sms',
    28: 'servingNodePLMNIdentifier hex',
  },
  { smsResult: CAUSE },
)

const SGSN_SMS_MT = fieldsOf(
  {
    ...SGSN_SMS,
    10: 'eventTimeStamp time',
    11: 'smsResult group',
    13: 'nodeID text',
    14: 'localSequenceNumber integer',
    15: 'chargingCharacteristics hex',
    16: 'rATType integer',
    19: 'originatingAddress isdn',
    27: 'servingNodePLMNIdentifier hex',
  },
  { smsResult: CAUSE },
)

const MO_CALL = fieldsOf(
  {
    0: 'recordType integer',
    1: 'servedIMSI tbcd',
    2: 'servedIMEI tbcd',
    3: 'servedMSISDN isdn',
    4: 'callingNumber number',
    5: 'calledNumber number',
    6: 'translatedNumber number',
    7: 'connectedNumber number',
    8: 'roamingNumber isdn',
    9: 'recordingEntity isdn',
    22: 'seizureTime time',
    23: 'answerTime time',
    24: 'releaseTime time',
    25: 'callDuration integer',
    26: 'dataVolume integer',
    30: 'causeForTerm integer',
    31: 'diagnostics group',
    32: 'callReference hex',
    33: 'sequenceNumber integer',
    38: 'networkCallReference hex',
    39: 'mSCAddress isdn',
    69: 'partialRecordType integer',
  },
  LISTS,
)

const MT_CALL = fieldsOf(
  {
    0: 'recordType integer',
    1: 'servedIMSI tbcd',
    2: 'servedIMEI tbcd',
    3: 'servedMSISDN number',
    4: 'callingNumber number',
    5: 'connectedNumber number',
    6: 'recordingEntity isdn',
    19: 'seizureTime time',
    20: 'answerTime time',
    21: 'releaseTime time',
    22: 'callDuration integer',
    23: 'dataVolume integer',
    27: 'causeForTerm integer',
    28: 'diagnostics group',
    29: 'callReference hex',
    30: 'sequenceNumber integer',
    33: 'networkCallReference hex',
    34: 'mSCAddress isdn',
    54: 'partialRecordType integer',
  },
  LISTS,
)

const MO_SMS = fieldsOf(
  {
    0: 'recordType integer',
    1: 'servedIMSI tbcd',
    2: 'servedIMEI tbcd',
    3: 'servedMSISDN isdn',
    5: 'serviceCentre isdn',
    6: 'recordingEntity isdn',
    8: 'messageReference hex',
    9: 'originationTime time',
    10: 'smsResult group',
    12: 'destinationNumber sms',
  },
  { smsResult: CAUSE },
)

const MT_SMS = fieldsOf(
  {
    0: 'recordType integer',
    1: 'serviceCentre isdn',
    2: 'servedIMSI tbcd',
    3: 'servedIMEI tbcd',
    4: 'servedMSISDN isdn',
    6: 'recordingEntity isdn',
    8: 'deliveryTime time',
    9: 'smsResult group',
  },
  { smsResult: CAUSE },
)

/** The type of a record is a field of every one; the tag around records is not unique. */
export const RECORD_TYPE_TAG = 0
/** By record type. */
export const BER_RECORDS: ReadonlyMap<number, BerFields> = new Map([
  [0, MO_CALL],
  [1, MT_CALL],
  [6, MO_SMS],
  [7, MT_SMS],
  [18, SGSN],
  [19, fieldsOf(GGSN, LISTS)],
  [21, SGSN_SMS_MO],
  [22, SGSN_SMS_MT],
  [70, fieldsOf({ ...GGSN, 34: 'listOfServiceData groups' }, LISTS)],
  [84, SGW],
  [85, PGW],
])
