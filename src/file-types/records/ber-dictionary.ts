/**
 * Fields of charging data records by their tags, as TS 32.298 (release 15) defines them; those of
 * the GGSN are of earlier releases. What is not listed is named by its tags.
 */
import { type BerFields, CAUSE, fieldsOf, type Rows } from './ber-fields.ts'
import { MO_SMS, MT_SMS, NODE_SMS_MO, NODE_SMS_MT, SGSN_SMS_MO, SGSN_SMS_MT } from './ber-sms.ts'

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
  [93, NODE_SMS_MO],
  [94, NODE_SMS_MT],
])
