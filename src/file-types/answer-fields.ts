/**
 * Fields that an answer can contain (`row_field_name`). Volumes are in base units, money is a
 * decimal of the currency. A failure has no fields about grants: it is unknown whether anything was
 * granted. Outside of a list of services, a field that belongs to a service is that of the first
 * one.
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
  type FinalUnitAction,
  NumberText,
} from './file-type.ts'
import { answerValueOf } from './message-values.ts'

/** Placeholder of a cost that was not calculated; used only in outcomes made for an answer. */
export const COST_UNKNOWN = Number.NaN

/** Stands in for the service of a request that was denied before its services were read. */
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
  action: null,
  cost: 0,
  quote: null,
}

/** Error codes of the legacy interface: 1400 plus the number of the reason. */
const errorCodes: Partial<Record<Reason, number>> = {
  noRate: 1401,
  blocked: 1401,
  noCredit: 1402,
  unknownSubscriber: 1403,
}

const readers = {
  /** Type of the request as sent, such as 1 or `I`. */
  request_type: ({ echo }) => answerValueOf(echo.requestType),
  /** Number of the request, if present. */
  request_num: ({ echo }) => (echo.requestNumber < 0 ? undefined : echo.requestNumber),
  session_id: ({ echo }) => echo.sessionId,
  /** Name of the request kind, such as `start_request`. */
  record_type: ({ echo }) => echo.recordType,
  /** Integer; in a list of services that of the service. */
  return_code: returnCode,
  granted_return_code: returnCode,
  /** Text for people. */
  desc,
  /** 1 if granted, otherwise 0. */
  status,
  /** Units granted; 0 if denied. */
  granted_volume: grantedVolume,
  usagev: grantedVolume,
  /** Whether units are granted. With no units requested: whether units are available. */
  has_grant: hasGrant,
  /** A volume in micros as an amount of money. */
  granted_money: (answer, service) => {
    const grant = grantOf(answer, service)
    return grant === undefined ? undefined : new NumberText(decimalText(grant.granted))
  },
  /** ISO 4217 numeric; 999 for none. */
  currency_code: (answer, service) => settingsOf(answer, service).currencyCode,
  /** Identifies the first processing of the request; a repetition returns the same id. */
  transaction_id: transactionId,
  stamp: transactionId,
  /** The subscriber and its account, if known. */
  sid: ({ outcome }) => (outcome.sid === 0 ? undefined : outcome.sid),
  aid: ({ outcome }) => (outcome.aid === 0 ? undefined : outcome.aid),
  /** Name of the file type. */
  type: ({ fileType }) => fileType,
  /** Same value as in recorded lines. */
  source: () => 'realtime',
  usaget: ({ outcome }, service) => (service ?? outcome.services[0])?.usaget,
  /** Present if the request has a rating group. */
  rating_group: ({ outcome }, service) => {
    const { ratingGroup } = service ?? outcome.services[0] ?? NO_SERVICE
    return ratingGroup < 0 ? undefined : ratingGroup
  },
  /** One or more Service-Identifiers of the service, if the request has any. */
  service_identifier: ({ outcome }, service) => {
    const { serviceIdentifier } = service ?? outcome.services[0] ?? NO_SERVICE
    return identifierValue(serviceIdentifier) ?? undefined
  },
  /** Validity of the grant in seconds, rounded up; 0 without a grant. */
  validity_time: (answer, service) => {
    const grant = grantOf(answer, service)
    return grant === undefined ? undefined : Math.ceil(grant.validityMs / 1000)
  },
  /** Tariff change during the validity of the grant, epoch seconds; absent without one. */
  tariff_change: (answer, service) => {
    const grant = changingOf(answer, service)
    return grant === undefined ? undefined : Math.floor(grant.tariffChangeMs / 1000)
  },
  /** Seconds without usage after which a grant has to be returned, rounded up. */
  quota_holding_time: (answer, service) => {
    const grant = reservedGrantOf(answer, service)
    if (grant === undefined) return undefined
    const { quotaHoldingMs } = answer.settings(grant.usaget)
    return quotaHoldingMs === 0 ? undefined : Math.ceil(quotaHoldingMs / 1000)
  },
  /** Remaining units of the grant at which more should be requested, rounded down. */
  threshold: (answer, service) => {
    const grant = reservedGrantOf(answer, service)
    if (grant === undefined) return undefined
    const { thresholdPercent } = answer.settings(grant.usaget)
    if (thresholdPercent === 0 || grant.granted === 0) return undefined
    return percentOf(grant.granted, thresholdPercent)
  },
  /** Whether this is the final grant. */
  final_unit: (answer, service) => grantOf(answer, service)?.finalUnit,
  /** Name of the policy that an event rule prescribes for the granted units. */
  policy: (answer, service) => policyOf(answer, service),
  /** `terminate`, `redirect` or `restrict`; like the fields below, only in a final grant. */
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
  /** List of filters, not empty. */
  restriction_filters: (answer, service) => {
    const end = actionOf(answer, service)
    return end?.action === 'restrict' && end.filters.length > 0 ? end.filters : undefined
  },
  /**
   * Cost of the session so far before tax, in a list of services that of the service; absent if
   * unknown.
   */
  cost: ({ outcome }, service) => {
    const cost = service === null ? costOf(outcome) : service.cost
    return Number.isNaN(cost) ? undefined : new NumberText(decimalText(cost))
  },
  /**
   * Price including embedded taxes. Like the following fields, only for requests with `pretend`.
   */
  aprice: (answer, service) => {
    const quote = quoteOf(answer, service)
    return quote === null ? undefined : new NumberText(quote.charge.exact.aprice)
  },
  /** Price after tax. */
  final_charge: (answer, service) => {
    const quote = quoteOf(answer, service)
    return quote === null ? undefined : new NumberText(quote.charge.exact.final_charge)
  },
  /** Taxes in the format of recorded lines. */
  tax_data: (answer, service) => answerValueOf(quoteOf(answer, service)?.charge.tax_data),
  /** Steps of the price calculation. */
  rating: (answer, service) => {
    const quote = quoteOf(answer, service)
    return quote === null ? undefined : answerValueOf(explain(quote.line))
  },
  /** Key of the matched rate. */
  arate_key: (answer, service) => quoteOf(answer, service)?.line.pricing.rateKey,
  /** Units included in groups, units beyond them, and units that no group applies to. */
  in_group: (answer, service) => groupsOf(answer, service)?.inGroup,
  over_group: (answer, service) => groupsOf(answer, service)?.overGroup,
  out_group: (answer, service) => groupsOf(answer, service)?.outGroup,
  /** Whether the request has `pretend`. */
  pretend: ({ echo }) => echo.pretend,
  billrun_pretend: ({ echo }) => echo.pretend,
  /** Balances of the subscriber, if requested. */
  balances: ({ outcome }) => outcome.balances?.map(balanceValues),
  /** Money available for the services of the request; absent without such a balance. */
  remaining_balance: (answer) => {
    const remaining = remainingMicros(answer.outcome.balances)
    return remaining === null ? undefined : new NumberText(decimalText(remaining))
  },
  /** 1 if that is below `realtime.low_balance_threshold`, otherwise 0. */
  low_balance: (answer, service) => {
    const remaining = remainingMicros(answer.outcome.balances)
    const { lowBalanceMicros } = settingsOf(answer, service)
    if (remaining === null || lowBalanceMicros === undefined) return undefined
    return remaining < lowBalanceMicros ? 1 : 0
  },
} as const satisfies Record<string, AnswerReader>

export type AnswerFieldName = keyof typeof readers

/** Readers of all row fields by name. */
export const answerFields: Readonly<Record<AnswerFieldName, AnswerReader>> = readers

/** Fields that require balances to be read with the request. */
export const balanceFields: ReadonlySet<string> = new Set<AnswerFieldName>([
  'balances',
  'remaining_balance',
  'low_balance',
])

/** Preconditions of fields that are absent from most answers. */
export const fieldNeeds: Readonly<Partial<Record<AnswerFieldName, AnswerTest>>> = {
  quota_holding_time: hasReservedGrant,
  threshold: hasReservedGrant,
  tariff_change: (answer, service) => changingOf(answer, service) !== undefined,
  policy: (answer, service) => policyOf(answer, service) !== undefined,
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

/** Fields that are volumes and can be converted to other units. */
export const volumeFields: readonly AnswerFieldName[] = [
  'granted_volume',
  'usagev',
  'threshold',
  'in_group',
  'over_group',
  'out_group',
]

/** Methods that `row_field_name: {classMethod}` can name. */
export const answerMethods: Readonly<Record<string, AnswerReader>> = {
  getStatus: status,
  getDesc: desc,
  /** 1401 no rate, 1402 no balance, 1403 no subscriber; absent for all other reasons. */
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

/**
 * If no units were requested, a grant of 0 units with a validity means that units are available.
 */
function hasGrant(answer: AnswerSource, service: ServiceOutcome | null): boolean {
  const grant = grantOf(answer, service)
  if (grant === undefined || grant.reason !== 'granted') return false
  return grant.granted > 0 || (grant.parts === null && grant.validityMs > 0 && !grant.finalUnit)
}

function transactionId({ outcome }: AnswerSource): AnswerValue | undefined {
  return outcome.transactionId === '' ? undefined : outcome.transactionId
}

function settingsOf(answer: AnswerSource, service: ServiceOutcome | null): AnswerSettings {
  return answer.settings((service ?? answer.outcome.services[0] ?? NO_SERVICE).usaget)
}

/**
 * The cost is not calculated for requests denied before their services, and unknown after a
 * failure.
 */
function costOf({ reason, services, cost }: ChargeOutcome): number {
  const isKnown = reasons[reason].status === 'granted' || (services.length > 0 && !isFailed(reason))
  return isKnown ? cost : COST_UNKNOWN
}

function isFailed(reason: Reason): boolean {
  return reason !== 'granted' && reasons[reason].status === 'failed'
}

/** Undefined for a failure. */
function grantOf(
  { outcome }: AnswerSource,
  service: ServiceOutcome | null,
): ServiceOutcome | undefined {
  if (isFailed(outcome.reason)) return undefined
  return service ?? outcome.services[0] ?? NO_SERVICE
}

/** A grant with reserved units; an event reserves none. */
function reservedGrantOf(
  answer: AnswerSource,
  service: ServiceOutcome | null,
): ServiceOutcome | undefined {
  const grant = grantOf(answer, service)
  if (grant === undefined || grant.validityMs === 0) return undefined
  return grant.granted > 0 || grant.parts !== null ? grant : undefined
}

/** A grant with a tariff change during its validity. */
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

/**
 * Action at the end of the final grant, or at once if an event rule redirects; undefined for other
 * grants.
 */
function actionOf(
  answer: AnswerSource,
  service: ServiceOutcome | null,
): FinalUnitAction | undefined {
  const grant = grantOf(answer, service)
  if (grant?.action?.type === 'redirect') {
    return { action: 'redirect', addressType: 'url', address: grant.action.address }
  }
  return grant?.finalUnit === true ? answer.settings(grant.usaget).finalUnit : undefined
}

function policyOf(answer: AnswerSource, service: ServiceOutcome | null): string | undefined {
  const action = grantOf(answer, service)?.action
  return action?.type === 'throttle' ? action.policy : undefined
}

function quoteOf(answer: AnswerSource, service: ServiceOutcome | null) {
  return grantOf(answer, service)?.quote ?? null
}

function groupsOf(answer: AnswerSource, service: ServiceOutcome | null) {
  const quote = quoteOf(answer, service)
  return quote === null ? undefined : groupUnits(quote.line.counts)
}

/** The service reduced to its part of a usage type; null if it has no such part. */
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
