/**
 * What an answer can say: the fields of a row (`row_field_name`, spec/realtime.md 1.6). Volumes are
 * in base units, money is a decimal number of the currency. A failure says nothing about grants:
 * what was granted, if anything, is not known. Outside of a list of services a field that belongs
 * to a service is that of the first one.
 */
import {
  type ChargeOutcome,
  type Reason,
  reasons,
  type ServiceOutcome,
} from '../domain/charge-outcome.ts'
import { explain } from '../domain/explain.ts'
import { groupUnits } from '../domain/lines.ts'
import { decimalText } from '../domain/money.ts'
import { identifierValue } from '../domain/session-services.ts'
import { balanceValues, remainingMicros } from './balance-values.ts'
import {
  type AnswerReader,
  type AnswerSettings,
  type AnswerSource,
  type AnswerTest,
  type AnswerValue,
  NumberText,
} from './file-type.ts'
import { answerValueOf } from './message-values.ts'

/** In place of a cost that nobody has added up; such an outcome is made to be answered only. */
export const COST_UNKNOWN = Number.NaN

/** Of a denied request whose services were never looked at. */
const NO_SERVICE: ServiceOutcome = {
  ratingGroup: -1,
  serviceIdentifier: '',
  usaget: '',
  reason: 'granted',
  granted: 0,
  parts: null,
  validityMs: 0,
  tariffChangeMs: 0,
  finalUnit: false,
  cost: 0,
  quote: null,
}

/** Legacy numbers of denials: 1400 and the reason's own. */
const errorCodes: Partial<Record<Reason, number>> = {
  noRate: 1401,
  blocked: 1401,
  noCredit: 1402,
  unknownSubscriber: 1403,
}

const readers = {
  /** Type of the request as it was sent, such as 1 or `I`. */
  request_type: ({ echo }) => answerValueOf(echo.requestType),
  /** Number of the request, if it had one. */
  request_num: ({ echo }) => (echo.requestNumber < 0 ? undefined : echo.requestNumber),
  session_id: ({ echo }) => echo.sessionId,
  /** Kind of the request by its name, such as `start_request`. */
  record_type: ({ echo }) => echo.recordType,
  /** Whole number; of a service in the list its own. */
  return_code: returnCode,
  granted_return_code: returnCode,
  /** For people. */
  desc,
  /** 1 granted, else 0. */
  status,
  /** Units that may be used now; 0 if denied. */
  granted_volume: grantedVolume,
  usagev: grantedVolume,
  /** Whether units are granted; of who may ask for none also where none are, but there are some. */
  has_grant: hasGrant,
  /** Of a volume in micros: the same as money. */
  granted_money: (answer, service) => {
    const grant = grantOf(answer, service)
    return grant === undefined ? undefined : new NumberText(decimalText(grant.granted))
  },
  /** ISO 4217 numeric; 999 for none. */
  currency_code: (answer, service) => settingsOf(answer, service).currencyCode,
  /** Identifies the first processing of the request. */
  transaction_id: transactionId,
  stamp: transactionId,
  /** The subscriber and its account, if known. */
  sid: ({ outcome }) => (outcome.sid === 0 ? undefined : outcome.sid),
  aid: ({ outcome }) => (outcome.aid === 0 ? undefined : outcome.aid),
  /** Name of the file type. */
  type: ({ fileType }) => fileType,
  /** As recorded lines have it. */
  source: () => 'realtime',
  usaget: ({ outcome }, service) => (service ?? outcome.services[0])?.usaget,
  /** If the request named one. */
  rating_group: ({ outcome }, service) => {
    const { ratingGroup } = service ?? outcome.services[0] ?? NO_SERVICE
    return ratingGroup < 0 ? undefined : ratingGroup
  },
  /** What tells services of one rating group apart: a number or several, if the request has any. */
  service_identifier: ({ outcome }, service) => {
    const { serviceIdentifier } = service ?? outcome.services[0] ?? NO_SERVICE
    return identifierValue(serviceIdentifier) ?? undefined
  },
  /** Seconds for which the grant holds, rounded up; 0 without a grant. */
  validity_time: (answer, service) => {
    const grant = grantOf(answer, service)
    return grant === undefined ? undefined : Math.ceil(grant.validityMs / 1000)
  },
  /** Epoch seconds at which another tariff begins to hold for the grant; if one does meanwhile. */
  tariff_change: (answer, service) => {
    const grant = changingOf(answer, service)
    return grant === undefined ? undefined : Math.floor(grant.tariffChangeMs / 1000)
  },
  /** Seconds without usage after which a grant is to be given back, rounded up. */
  quota_holding_time: (answer, service) => {
    const grant = reservedGrantOf(answer, service)
    if (grant === undefined) return undefined
    const { quotaHoldingMs } = answer.settings(grant.usaget)
    return quotaHoldingMs === 0 ? undefined : Math.ceil(quotaHoldingMs / 1000)
  },
  /** Units of the grant that may be left when more is asked for, rounded down. */
  threshold: (answer, service) => {
    const grant = reservedGrantOf(answer, service)
    if (grant === undefined) return undefined
    const { thresholdPercent } = answer.settings(grant.usaget)
    if (thresholdPercent === 0 || grant.granted === 0) return undefined
    return percentOf(grant.granted, thresholdPercent)
  },
  /** Whether no further units are available after these. */
  final_unit: (answer, service) => grantOf(answer, service)?.finalUnit,
  /** `terminate`, `redirect` or `restrict`, at the final unit only; as the fields that follow. */
  final_unit_action: (answer, service) => {
    const action = actionOf(answer, service)?.action
    return action === 'none' ? undefined : action
  },
  redirect_address: (answer, service) => {
    const end = actionOf(answer, service)
    return end?.action === 'redirect' ? end.address : undefined
  },
  /** `ipv4`, `ipv6`, `url` or `sip`. */
  redirect_address_type: (answer, service) => {
    const end = actionOf(answer, service)
    return end?.action === 'redirect' ? end.addressType : undefined
  },
  /** List of texts, not empty. */
  restriction_filters: (answer, service) => {
    const end = actionOf(answer, service)
    return end?.action === 'restrict' && end.filters.length > 0 ? end.filters : undefined
  },
  /** Money before tax of the session so far, of a service in the list its own; if known. */
  cost: ({ outcome }, service) => {
    const cost = service === null ? costOf(outcome) : service.cost
    return Number.isNaN(cost) ? undefined : new NumberText(decimalText(cost))
  },
  /** Of a request that only pretends, as all that follows: money, with embedded taxes. */
  aprice: (answer, service) => {
    const quote = quoteOf(answer, service)
    return quote === null ? undefined : new NumberText(quote.charge.exact.aprice)
  },
  /** Money after tax. */
  final_charge: (answer, service) => {
    const quote = quoteOf(answer, service)
    return quote === null ? undefined : new NumberText(quote.charge.exact.final_charge)
  },
  /** The taxes, as recorded lines have them. */
  tax_data: (answer, service) => answerValueOf(quoteOf(answer, service)?.charge.tax_data),
  /** How the price comes about, step by step. */
  rating: (answer, service) => {
    const quote = quoteOf(answer, service)
    return quote === null ? undefined : answerValueOf(explain(quote.line))
  },
  /** Key of the rate. */
  arate_key: (answer, service) => quoteOf(answer, service)?.line.rateKey,
  /** Units that groups include, those beyond them, and those that no group is meant for. */
  in_group: (answer, service) => groupsOf(answer, service)?.inGroup,
  over_group: (answer, service) => groupsOf(answer, service)?.overGroup,
  out_group: (answer, service) => groupsOf(answer, service)?.outGroup,
  /** Whether the request only pretends. */
  pretend: ({ echo }) => echo.pretend,
  billrun_pretend: ({ echo }) => echo.pretend,
  /** Those of the subscriber, where they are asked for. */
  balances: ({ outcome }) => outcome.balances?.map(balanceValues),
  /** Money that is free for the services of the request; if there is any such balance. */
  remaining_balance: (answer) => {
    const remaining = remainingMicros(answer.outcome.balances)
    return remaining === null ? undefined : new NumberText(decimalText(remaining))
  },
  /** 1 if that is below `realtime.low_balance_threshold`, else 0. */
  low_balance: (answer, service) => {
    const remaining = remainingMicros(answer.outcome.balances)
    const { lowBalanceMicros } = settingsOf(answer, service)
    if (remaining === null || lowBalanceMicros === undefined) return undefined
    return remaining < lowBalanceMicros ? 1 : 0
  },
} as const satisfies Record<string, AnswerReader>

export type AnswerFieldName = keyof typeof readers

/** Every row field by its name. */
export const answerFields: Readonly<Record<AnswerFieldName, AnswerReader>> = readers

/** Those for which the request has to ask for the balances. */
export const balanceFields: ReadonlySet<string> = new Set<AnswerFieldName>([
  'balances',
  'remaining_balance',
  'low_balance',
])

/** What fields are absent without, of those that most answers have none of. */
export const fieldNeeds: Readonly<Partial<Record<AnswerFieldName, AnswerTest>>> = {
  quota_holding_time: hasReservedGrant,
  threshold: hasReservedGrant,
  tariff_change: (answer, service) => changingOf(answer, service) !== undefined,
  final_unit_action: hasFinalUnit,
  redirect_address: hasFinalUnit,
  redirect_address_type: hasFinalUnit,
  restriction_filters: hasFinalUnit,
  aprice: hasQuote,
  final_charge: hasQuote,
  tax_data: hasQuote,
  rating: hasQuote,
  arate_key: hasQuote,
  in_group: hasQuote,
  over_group: hasQuote,
  out_group: hasQuote,
}

/** Those that are volumes, and can be told in other units. */
export const volumeFields: readonly AnswerFieldName[] = [
  'granted_volume',
  'usagev',
  'threshold',
  'in_group',
  'over_group',
  'out_group',
]

/** What `row_field_name: {classMethod}` can call (spec/realtime.md 5.3). */
export const answerMethods: Readonly<Record<string, AnswerReader>> = {
  getStatus: status,
  getDesc: desc,
  /** 1401 no rate, 1402 no balance, 1403 no subscriber; absent for all else. */
  getErrorCode: (answer, service) => errorCodes[reasonOf(answer, service)],
}

function reasonOf({ outcome }: AnswerSource, service: ServiceOutcome | null): Reason {
  return service === null ? outcome.reason : service.reason
}

function returnCode(answer: AnswerSource, service: ServiceOutcome | null): AnswerValue {
  return settingsOf(answer, service).returnCodes[reasonOf(answer, service)]
}

function desc({ outcome }: AnswerSource, service: ServiceOutcome | null): AnswerValue {
  if (service !== null) return reasons[service.reason].text
  const { text } = reasons[outcome.reason]
  return outcome.detail === '' ? text : `${text}: ${outcome.detail}`
}

function status(answer: AnswerSource, service: ServiceOutcome | null): AnswerValue {
  return reasons[reasonOf(answer, service)].status === 'granted' ? 1 : 0
}

function grantedVolume(
  answer: AnswerSource,
  service: ServiceOutcome | null,
): AnswerValue | undefined {
  return grantOf(answer, service)?.granted
}

/** Only a grant has a validity: where no units were asked for it is a grant of 0 units. */
function hasGrant(answer: AnswerSource, service: ServiceOutcome | null): boolean {
  const grant = grantOf(answer, service)
  if (grant === undefined || grant.reason !== 'granted') return false
  return grant.granted > 0 || (grant.parts === null && grant.validityMs > 0)
}

function transactionId({ outcome }: AnswerSource): AnswerValue | undefined {
  return outcome.transactionId === '' ? undefined : outcome.transactionId
}

function settingsOf(answer: AnswerSource, service: ServiceOutcome | null): AnswerSettings {
  return answer.settings((service ?? answer.outcome.services[0] ?? NO_SERVICE).usaget)
}

/**
 * Of a denial that never came to the session's services nobody has added up the cost, and of a
 * failure it is not known.
 */
function costOf({ reason, services, cost }: ChargeOutcome): number {
  const isKnown = reasons[reason].status === 'granted' || (services.length > 0 && !isFailed(reason))
  return isKnown ? cost : COST_UNKNOWN
}

function isFailed(reason: Reason): boolean {
  return reason !== 'granted' && reasons[reason].status === 'failed'
}

/** Undefined of a failure. */
function grantOf(
  { outcome }: AnswerSource,
  service: ServiceOutcome | null,
): ServiceOutcome | undefined {
  if (isFailed(outcome.reason)) return undefined
  return service ?? outcome.services[0] ?? NO_SERVICE
}

/** A grant that is held: an event is over as soon as it is granted. */
function reservedGrantOf(
  answer: AnswerSource,
  service: ServiceOutcome | null,
): ServiceOutcome | undefined {
  const grant = grantOf(answer, service)
  if (grant === undefined || grant.validityMs === 0) return undefined
  return grant.granted > 0 || grant.parts !== null ? grant : undefined
}

/** A grant that another tariff begins to hold for. */
function changingOf(
  answer: AnswerSource,
  service: ServiceOutcome | null,
): ServiceOutcome | undefined {
  const grant = grantOf(answer, service)
  return grant !== undefined && grant.tariffChangeMs > 0 ? grant : undefined
}

function hasReservedGrant(answer: AnswerSource, service: ServiceOutcome | null): boolean {
  return reservedGrantOf(answer, service) !== undefined
}

function hasFinalUnit(answer: AnswerSource, service: ServiceOutcome | null): boolean {
  return grantOf(answer, service)?.finalUnit === true
}

function hasQuote(answer: AnswerSource, service: ServiceOutcome | null): boolean {
  return quoteOf(answer, service) !== null
}

/** What happens at the end of the last grant; undefined while there may be another. */
function actionOf(answer: AnswerSource, service: ServiceOutcome | null) {
  const grant = grantOf(answer, service)
  return grant?.finalUnit === true ? answer.settings(grant.usaget).finalUnit : undefined
}

function quoteOf(answer: AnswerSource, service: ServiceOutcome | null) {
  return grantOf(answer, service)?.quote ?? null
}

function groupsOf(answer: AnswerSource, service: ServiceOutcome | null) {
  const quote = quoteOf(answer, service)
  return quote === null ? undefined : groupUnits(quote.line)
}

/** The service as if it had nothing but the part of this usage type; null without one. */
export function partOf(
  { outcome }: AnswerSource,
  service: ServiceOutcome | null,
  usaget: string,
): ServiceOutcome | null {
  const whole = service ?? outcome.services[0]
  const part = whole?.parts?.find((each) => each.usaget === usaget)
  if (whole === undefined || part === undefined) return null
  return { ...whole, usaget, granted: part.granted, parts: null }
}

export function hasParts({ outcome }: AnswerSource, service: ServiceOutcome | null): boolean {
  const { parts = null } = service ?? outcome.services[0] ?? NO_SERVICE
  return parts !== null
}

/** Rounded down; exact for all safe integers. */
function percentOf(volume: number, percent: number): number {
  const rest = volume % 100
  return ((volume - rest) / 100) * percent + Math.floor((rest * percent) / 100)
}
