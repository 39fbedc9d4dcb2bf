/** Credit-control requests of several kinds for tests (RFC 8506 appendix A, TS 32.299). */
import type { Tree } from './trees.ts'

export const NOW_S = Date.UTC(2026, 10, 21, 10, 10) / 1000

export const head: Tree = {
  'Session-Id': 'ctf1.example.net;1876543210;7',
  'Origin-Host': 'ctf1.example.net',
  'Origin-Realm': 'example.net',
  'Destination-Realm': 'charging.example.org',
  'Auth-Application-Id': 4,
  'Service-Context-Id': '32251@3gpp.org',
  'CC-Request-Type': 1,
  'CC-Request-Number': 0,
}

const subscriber: Tree = {
  'Event-Timestamp': NOW_S - 5,
  'Subscription-Id': [
    { 'Subscription-Id-Type': 0, 'Subscription-Id-Data': '972501234567' },
    { 'Subscription-Id-Type': 1, 'Subscription-Id-Data': '425010000000001' },
  ],
}

const voice = { ...head, 'Service-Context-Id': 'ext.001.01.12.32260@3gpp.org' }
const event = { ...head, ...subscriber, 'CC-Request-Type': 4 }
const called = {
  'IMS-Information': { 'Node-Functionality': 6, 'Called-Party-Address': 'tel:+49301' },
}

export const data: Tree = {
  ...head,
  ...subscriber,
  'CC-Request-Type': 2,
  'CC-Request-Number': 3,
  'Multiple-Services-Indicator': 1,
  'User-Equipment-Info': {
    'User-Equipment-Info-Type': 0,
    'User-Equipment-Info-Value': '3569380356438091',
  },
  'Multiple-Services-Credit-Control': [
    {
      'Requested-Service-Unit': {},
      'Used-Service-Unit': [
        {
          'Reporting-Reason': 3,
          'CC-Time': 300,
          'CC-Total-Octets': 9_000_000,
          'CC-Input-Octets': 1_000_000,
          'CC-Output-Octets': 8_000_000,
        },
        { 'CC-Input-Octets': 30, 'CC-Output-Octets': 12 },
      ],
      'Rating-Group': 10,
    },
    {
      'Requested-Service-Unit': { 'CC-Total-Octets': 5_000_000_000 },
      'Used-Service-Unit': { 'CC-Total-Octets': 0 },
      'Service-Identifier': 7,
      'Rating-Group': 20,
    },
  ],
  'Service-Information': {
    'PS-Information': {
      '3GPP-Charging-Id': Buffer.from('7f00abcd', 'hex'),
      'PDP-Address': Buffer.from('00010a400011', 'hex'),
      'SGSN-Address': Buffer.from('00010a141e28', 'hex'),
      'Called-Station-Id': 'internet.example.net',
      '3GPP-RAT-Type': Buffer.from([6]),
      '3GPP-User-Location-Info': Buffer.from('8224f510100024f51010000001', 'hex'),
      '3GPP-MS-TimeZone': Buffer.from('8000', 'hex'),
      '3GPP-SGSN-MCC-MNC': '42501',
    },
  },
}

/** Requests by their description. */
export const composed: Readonly<Record<string, Tree>> = {
  'data, two services': data,
  'data, end of session': {
    ...head,
    'CC-Request-Type': 3,
    'CC-Request-Number': 9,
    'Termination-Cause': 1,
    'Multiple-Services-Credit-Control': {
      'Used-Service-Unit': { 'CC-Total-Octets': 77 },
      'Rating-Group': 10,
    },
  },
  'voice, reserved for an event (ECUR)': {
    ...voice,
    ...subscriber,
    'Requested-Service-Unit': { 'CC-Time': 60 },
    'Service-Information': called,
  },
  'voice, end of session': {
    ...voice,
    'CC-Request-Type': 3,
    'CC-Request-Number': 1,
    'Used-Service-Unit': { 'CC-Time': 42 },
    'Termination-Cause': 1,
  },
  'an SMS, debited immediately (IEC)': {
    ...event,
    'Service-Context-Id': '32274@3gpp.org',
    'Requested-Action': 0,
    'Requested-Service-Unit': { 'CC-Service-Specific-Units': 1 },
    'Service-Information': {
      'SMS-Information': { 'Recipient-Info': { 'Recipient-Address': { 'Address-Data': '49301' } } },
    },
  },
  'a refund': {
    ...event,
    'Service-Context-Id': '32274@3gpp.org',
    'Requested-Action': 1,
    'Requested-Service-Unit': { 'CC-Service-Specific-Units': 1 },
  },
  'a check of the balance': {
    ...event,
    'Requested-Action': 2,
    'Requested-Service-Unit': { 'CC-Total-Octets': 1000 },
  },
  'a price enquiry': {
    ...event,
    'Service-Context-Id': '32260@3gpp.org',
    'Requested-Action': 3,
    'Requested-Service-Unit': { 'CC-Time': 60 },
    'Service-Information': called,
  },
  money: {
    ...event,
    'Service-Context-Id': 'vod@example.net',
    'Requested-Action': 0,
    'Requested-Service-Unit': {
      'CC-Service-Specific-Units': 1,
      'CC-Money': { 'Unit-Value': { 'Value-Digits': 1999, Exponent: -2 }, 'Currency-Code': 978 },
    },
  },
}
