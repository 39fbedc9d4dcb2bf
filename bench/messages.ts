/** Charge requests of three sizes as network elements send them, and outcomes for their answers. */
import {
  type ChargeOutcome,
  plainOutcome,
  type ServiceOutcome,
} from '../src/domain/charge-outcome.ts'
import type { ChargeRequest } from '../src/domain/charge-request.ts'

/** Nominal sizes of the messages as plain JSON, bytes; actual sizes differ by a few percent. */
export const SIZES = [200, 1000, 4000] as const
export type Size = (typeof SIZES)[number]

/** Services of the message of a size; 0 for one service without a list. */
const SERVICES: Readonly<Record<Size, number>> = { 200: 0, 1000: 3, 4000: 10 }

/** The event time of the first message, epoch ms; the following ones are a second apart each. */
export const FIRST_MS = Date.UTC(2026, 10, 21, 10)

/** One service of a message, units in base units. */
export interface MessageService {
  rating_group: number
  usaget: string
  used_usagev: number
  usagev: number
}

/** An update with the names of the plain JSON format. */
export interface UpdateMessage {
  [name: string]: unknown
  services?: (MessageService & Record<string, unknown>)[]
}

/** The update with number `index`: each has another session, subscriber and time. */
export function updateOf(size: Size, index: number): UpdateMessage {
  const at = new Date(FIRST_MS + index * 1000)
  const head = {
    record_type: 'update_request',
    session_id: `pgw${1 + (index % 4)}.epc.example.net;${1_789_000_000 + index};${index}`,
    request_num: 1 + (index % 9),
    urt: at.toISOString().replace('.000Z', 'Z'),
  }
  if (SERVICES[size] === 0) return { ...head, ...serviceOf(index, 0) }
  const services = Array.from({ length: SERVICES[size] }, (_, at) => ({
    ...serviceOf(index, at),
    ...(size === 4000 ? entryExtras(index, at) : {}),
  }))
  return { ...head, msisdn: String(972_500_000_000 + index), ...extras(size, index), services }
}

function serviceOf(index: number, at: number): MessageService {
  const used = 1_000_000 + ((index * 7_919 + at * 104_729) % 9_000_000)
  return { rating_group: 10 + at, usaget: 'data', used_usagev: used, usagev: 10_485_760 }
}

/** Fields that gateways send but charging does not read. */
function extras(size: Size, index: number): Record<string, unknown> {
  const location = { mcc: '425', mnc: '01', tac: 4_000 + (index % 100), eci: 268_435_456 + index }
  const some = {
    imei: `35${String(index).padStart(13, '0')}`,
    rat_type: 6,
    apn: 'internet.example.net',
    sgsn_address: '10.20.30.40',
    ggsn_address: '10.20.30.41',
    charging_id: 0x7f000000 + index,
    pdp_address: `10.64.${index % 256}.17`,
    pdp_type: 'IPv4v6',
    selection_mode: '0',
    origin_host: 'pgw1.epc.example.net',
    origin_realm: 'epc.example.net',
    destination_realm: 'charging.example.net',
    service_context_id: '32251@3gpp.org',
    charging_characteristics: '0800',
    serving_node_type: 2,
    ms_timezone: '8000',
    user_location: location,
  }
  if (size === 1000) return some
  const qos = { qci: 9, arp: { priority: 8, preemptible: true }, ul: 50_000_000, dl: 150_000_000 }
  return {
    ...some,
    qos,
    rulebase_features: ['tethering', 'video', 'messaging'],
    roaming_partner: '26201',
    session_start: '2026-11-21T08:00:00Z',
    bearer_id: 'default-5',
    cause: 'quota-exhausted',
    user_equipment_info: { type: 0, value: 'MzU2OTM4MDM1NjQzODA5' },
    pcrf: 'pcrf2',
  }
}

function entryExtras(index: number, at: number): Record<string, unknown> {
  return {
    reporting_reason: 2,
    input_octets: 120_000 + index * 31 + at,
    output_octets: 880_000 + at,
    service_id: 100 + at,
    rule_base: 'default-internet',
    event_seq: index * 16 + at,
    first_usage: '2026-11-21T09:45:00Z',
    last_usage: '2026-11-21T09:59:58Z',
  }
}

/** All requested units granted for an hour, with the remaining units of two buckets. */
export function outcomeOf(request: ChargeRequest, index: number): ChargeOutcome {
  const services = request.services.map(
    ({ ratingGroup, serviceIdentifier, usaget, requested }): ServiceOutcome => ({
      ratingGroup,
      serviceIdentifier,
      parts: null,
      usaget,
      reason: 'granted',
      granted: requested,
      validityMs: 3_600_000,
      tariffChangeMs: 0,
      action: null,
      finalUnit: false,
      cost: 1_250_000 + index,
      quote: null,
    }),
  )
  const transactionId = (0x3f2a9c0d51e7 + index).toString(16).padStart(16, '0')
  return { ...plainOutcome('granted', '', 1_000 + index, 2_000 + index), transactionId, services }
}
