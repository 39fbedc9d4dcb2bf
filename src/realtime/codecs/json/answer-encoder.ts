/** Encodes answers of the plain JSON format (docs/WIRE.md) from `ChargeOutcome`. */
import {
  type BalanceReport,
  type ChargeOutcome,
  type Quote,
  type Reason,
  reasons,
  type ServiceOutcome,
} from '../../../domain/charge-outcome.ts'
import { explain } from '../../../domain/explain.ts'
import { groupUnits } from '../../../domain/lines.ts'
import { decimalText } from '../../../domain/money.ts'
import { identifierValue } from '../../../domain/session-services.ts'
import { balanceValues } from '../../../file-types/balance-values.ts'
import type { AnswerSettings, FinalUnitAction } from '../../../file-types/file-type.ts'
import type { JsonEnvelope } from './decode.ts'
import { quote } from './text.ts'
import { encodeValue } from './value.ts'

/** Encodes answers and refusals; constant parts are precomputed. */
export class JsonEncoder {
  readonly #codes: Readonly<Record<Reason, number>>
  /** Beginning of an answer without details, by reason. */
  readonly #heads: Readonly<Record<Reason, string>>
  readonly #quotaHolding: string
  readonly #thresholdPercent: number
  readonly #finalUnit: string

  constructor(settings: AnswerSettings) {
    const { returnCodes, quotaHoldingMs, thresholdPercent, finalUnit } = settings
    this.#codes = returnCodes
    const heads = (Object.keys(reasons) as Reason[]).map((reason) => [reason, this.#head(reason)])
    this.#heads = Object.fromEntries(heads)
    this.#quotaHolding = quotaHoldingMs > 0 ? `,"quotaHoldingTime":${seconds(quotaHoldingMs)}` : ''
    this.#thresholdPercent = thresholdPercent
    this.#finalUnit = `,"finalUnit":true${finalUnitFields(finalUnit)}`
  }

  encode(envelope: JsonEnvelope, outcome: ChargeOutcome): string {
    const { recordType, requestNumber, sessionId } = envelope
    const { reason, detail, sid, transactionId, balances } = outcome
    const type = typeof recordType === 'number' ? recordType : `"${recordType}"`
    let text = detail === '' ? this.#heads[reason] : this.#head(reason, detail)
    text += `,"requestType":${type}`
    if (requestNumber >= 0) text += `,"requestNum":${requestNumber}`
    text += `,"sessionId":${quote(sessionId)}`
    if (sid !== 0) text += `,"sid":${sid}`
    if (transactionId !== '') text += `,"transactionId":${quote(transactionId)}`
    // A failure includes no grants: whether units were granted is unknown.
    if (reasons[reason].status !== 'failed') text += this.#grants(envelope, outcome)
    if (balances !== null) text += encodeBalances(balances)
    return `${text}}`
  }

  encodeRefusal(reason: Reason, detail: string): string {
    return `${this.#head(reason, detail)}}`
  }

  /** `status`, `returnCode` and `desc`, with the object left open. */
  #head(reason: Reason, detail = ''): string {
    const { status, text } = reasons[reason]
    const desc = quote(detail === '' ? text : `${text}: ${detail}`)
    const granted = status === 'granted' ? 1 : 0
    return `{"status":${granted},"returnCode":${this.#codes[reason]},"desc":${desc}`
  }

  #grants({ isServiceList, wantsCost }: JsonEnvelope, outcome: ChargeOutcome): string {
    const { services } = outcome
    // If a denial came before the services were processed, the cost was not calculated.
    const isCostKnown = outcome.reason === 'granted' || services.length > 0
    const cost = wantsCost && isCostKnown ? `,"cost":${decimalText(outcome.cost)}` : ''
    if (!isServiceList) return `${cost},${this.#grant(services[0])}`
    let list = ''
    for (let index = 0; index < services.length; index += 1) {
      if (index > 0) list += ','
      list += this.#service(services[index] as ServiceOutcome, wantsCost)
    }
    return `${cost},"services":[${list}]`
  }

  #service(service: ServiceOutcome, wantsCost: boolean): string {
    const { ratingGroup, serviceIdentifier, usaget, reason, cost } = service
    let group = ratingGroup < 0 ? '' : `"rating_group":${ratingGroup},`
    if (serviceIdentifier !== '') group += identifierField(serviceIdentifier)
    let text = `{${group}"usaget":${quote(usaget)},"returnCode":${this.#codes[reason]}`
    if (wantsCost) text += `,"cost":${decimalText(cost)}`
    return `${text},${this.#grant(service)}}`
  }

  #grant(service: ServiceOutcome | undefined): string {
    if (service === undefined) return '"grantedVolume":0,"validityTime":0,"finalUnit":false'
    const { granted, validityMs, finalUnit, action } = service
    let text = `"grantedVolume":${granted},"validityTime":${seconds(validityMs)}`
    if (granted > 0) text += this.#quotaHolding + this.#threshold(granted)
    if (action?.type === 'redirect') text += redirectFields(action.address)
    else text += finalUnit ? this.#finalUnit : ',"finalUnit":false'
    if (action?.type === 'throttle') text += `,"policy":${quote(action.policy)}`
    return service.quote === null ? text : `${text},${encodeQuote(service.quote)}`
  }

  /** Remaining units at which more are to be requested: the percentage, rounded down. */
  #threshold(granted: number): string {
    const percent = this.#thresholdPercent
    if (percent === 0) return ''
    // In hundreds and remainder, because the product may exceed 2^53.
    const rest = granted % 100
    const units = ((granted - rest) / 100) * percent + Math.floor((rest * percent) / 100)
    return `,"threshold":${units}`
  }
}

/** At once: nothing is granted. */
function redirectFields(address: string): string {
  return `,"finalUnit":true${finalUnitFields({ action: 'redirect', address, addressType: 'url' })}`
}

function identifierField(identifier: string): string {
  return `"service_identifier":${JSON.stringify(identifierValue(identifier))},`
}

function seconds(ms: number): number {
  return Math.ceil(ms / 1000)
}

function finalUnitFields(finalUnit: FinalUnitAction): string {
  switch (finalUnit.action) {
    case 'none':
      return ''
    case 'terminate':
      return ',"finalUnitAction":"terminate"'
    case 'redirect': {
      const { address, addressType } = finalUnit
      const to = `,"redirectAddress":${quote(address)},"redirectAddressType":"${addressType}"`
      return `,"finalUnitAction":"redirect"${to}`
    }
    case 'restrict': {
      const filters = finalUnit.filters.map(quote).join(',')
      const list = filters === '' ? '' : `,"restrictionFilters":[${filters}]`
      return `,"finalUnitAction":"restrict"${list}`
    }
  }
}

/** `balances` of an answer: prepaid balances, included units, and postpaid credit. */
function encodeBalances(balances: readonly BalanceReport[]): string {
  return `,"balances":${encodeValue(balances.map(balanceValues))}`
}

/**
 * Further fields of an answer to a pretend request: the CDR line that full usage of the
 * grant would yield.
 */
function encodeQuote({ line, charge }: Quote): string {
  const { exact, tax_data } = charge
  const { inGroup, overGroup, outGroup } = groupUnits(line.counts)
  const groups = `"inGroup":${inGroup},"overGroup":${overGroup},"outGroup":${outGroup}`
  const total = `"finalCharge":${exact.final_charge},"taxData":${JSON.stringify(tax_data)}`
  const price = `"aprice":${exact.aprice},${total},${groups}`
  const rateKey = quote(line.pricing.rateKey)
  return `${price},"rateKey":${rateKey},"rating":${JSON.stringify(explain(line))}`
}
