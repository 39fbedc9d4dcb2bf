/** Records of short messages: of an MSC, of an SGSN or MME, and of an SMS node (TS 32.274). */
import { CAUSE, fieldsOf, type Rows } from './ber-fields.ts'

export const MO_SMS = fieldsOf(
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

export const MT_SMS = fieldsOf(
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

/** SMS of the SGSN or MME: what both directions have in common. */
const SGSN_SMS: Rows = {
  0: 'recordType integer',
  1: 'servedIMSI tbcd',
  2: 'servedIMEI tbcd',
  3: 'servedMSISDN isdn',
  5: 'serviceCentre isdn',
  6: 'recordingEntity isdn',
}

export const SGSN_SMS_MO = fieldsOf(
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

export const SGSN_SMS_MT = fieldsOf(
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

const ADDRESS = fieldsOf(
  { 0: 'sMAddressType integer', 1: 'sMAddressData text', 2: 'sMAddressDomain group' },
  { sMAddressDomain: fieldsOf({ 0: 'sMDomainName text', 1: 'threeGPPIMSI-MCC-MNC hex' }) },
)

const INTERFACE = fieldsOf({
  0: 'interfaceId text',
  1: 'interfaceText text',
  2: 'interfacePort text',
  3: 'interfaceType integer',
})

const ORIGINATOR = fieldsOf(
  {
    0: 'originatorIMSI tbcd',
    1: 'originatorMSISDN isdn',
    2: 'originatorOtherAddress group',
    3: 'originatorSCCPAddress isdn',
    4: 'originatorReceivedAddress group',
    5: 'sMOriginatorInterface group',
    6: 'sMOriginatorProtocolID hex',
    7: 'originatorOtherAddresses groups',
  },
  {
    originatorOtherAddress: ADDRESS,
    originatorReceivedAddress: ADDRESS,
    sMOriginatorInterface: INTERFACE,
    originatorOtherAddresses: ADDRESS,
  },
)

const RECIPIENT = fieldsOf(
  {
    0: 'recipientIMSI tbcd',
    1: 'recipientMSISDN isdn',
    2: 'recipientOtherAddress group',
    3: 'recipientSCCPAddress isdn',
    4: 'recipientReceivedAddress group',
    5: 'sMDestinationInterface group',
    6: 'sMRecipientProtocolID hex',
    7: 'recipientOtherAddresses groups',
  },
  {
    recipientOtherAddress: ADDRESS,
    recipientReceivedAddress: ADDRESS,
    sMDestinationInterface: INTERFACE,
    recipientOtherAddresses: ADDRESS,
  },
)

const NODE = { originatorInfo: ORIGINATOR, recipientInfo: RECIPIENT, sMSResult: CAUSE }

/** A message that was submitted to the node. */
export const NODE_SMS_MO = fieldsOf(
  {
    0: 'recordType integer',
    1: 'sMSNodeAddress isdn',
    2: 'originatorInfo group',
    3: 'recipientInfo groups',
    4: 'servedIMEI tbcd',
    5: 'eventtimestamp time',
    6: 'messageReference hex',
    7: 'sMTotalNumber integer',
    8: 'sMSequenceNumber integer',
    9: 'messageSize integer',
    10: 'messageClass integer',
    11: 'sMdeliveryReportRequested boolean',
    12: 'sMDataCodingScheme integer',
    13: 'sMMessageType integer',
    14: 'sMReplyPathRequested null',
    15: 'sMUserDataHeader hex',
    16: 'userLocationInfo hex',
    17: 'rATType integer',
    18: 'uETimeZone hex',
    19: 'sMSResult group',
    22: 'localSequenceNumber integer',
  },
  NODE,
)

/** A message that the node has delivered. */
export const NODE_SMS_MT = fieldsOf(
  {
    0: 'recordType integer',
    1: 'sMSNodeAddress isdn',
    2: 'recipientInfo group',
    3: 'originatorInfo group',
    4: 'servedIMEI tbcd',
    5: 'submissionTime time',
    6: 'eventtimestamp time',
    7: 'sMPriority integer',
    8: 'messageReference hex',
    9: 'sMTotalNumber integer',
    10: 'sMSequenceNumber integer',
    11: 'messageSize integer',
    12: 'messageClass integer',
    13: 'sMdeliveryReportRequested boolean',
    14: 'sMDataCodingScheme integer',
    15: 'sMMessageType integer',
    16: 'sMReplyPathRequested null',
    17: 'sMUserDataHeader hex',
    18: 'sMSStatus hex',
    19: 'sMDischargeTime time',
    20: 'userLocationInfo hex',
    21: 'rATType integer',
    22: 'uETimeZone hex',
    23: 'sMSResult group',
    26: 'localSequenceNumber integer',
  },
  NODE,
)
