/** Rates a message that a file type has read: the steps `found subscriber` and `price`. */
import { usedResult } from '../../billing/quote/event-result.ts'
import { decideMessage, findCustomer } from '../../billing/quote/message.ts'
import { identifyingFields } from '../../catalog/settings/customers/identifying-fields.ts'
import { readCategory } from '../../catalog/settings/stored-config.ts'
import {
  type ChargeOutcome,
  plainOutcome,
  type Reason,
  reasons,
  type ServiceOutcome,
} from '../../domain/charge-outcome.ts'
import { type ChargeRequest, opensSession } from '../../domain/charge-request.ts'
import type { CheckStep, RatedMessage, RateMessage } from '../../file-types/check-report.ts'
import { compileIdentification, subscriberLookups } from '../../rating/identify.ts'
import { compileCalculators } from '../../rating/match/calculators.ts'
import type { ActionCall } from './action.ts'

/** The function reads only, and answers as charging would now. */
export async function rateMessage(call: ActionCall): Promise<RateMessage> {
  const { catalog, ledger, lookup, liveCatalogue, config, nowMs } = call
  const { value: stored } = await readCategory(catalog, 'file_types')
  const searched = new Set(['sid', ...identifyingFields(stored, config)])
  const source = { catalog, ledger, lookup, catalogue: liveCatalogue }
  return async (request, rules): Promise<RatedMessage> => {
    if (!opensSession(request.kind)) return notAlone(request)
    const { customerIdentification = config.rating.customerIdentification } = rules ?? {}
    const identification = compileIdentification(
      customerIdentification,
      config.rating.countryPrefix,
    )
    const lookups = subscriberLookups(request, identification)
    const other = lookups.find(({ key }) => !searched.has(key))
    if (other !== undefined) return notSearched(other.key)
    const found = await findCustomer(source, lookups)
    const lookedFor = lookups.map(({ key, value }) => `${key} ${value}`)
    if (found === null) return unknown(lookedFor)
    const calculators = rules === null ? null : compileCalculators(rules.rateCalculators)
    const message = { request, sid: found.sid, calculators }
    const outcome = await decideMessage(source, config, message, nowMs)
    const { key, value, sid, aid, plan } = found
    const steps = [
      { step: 'found subscriber', ok: true, result: { key, value, sid, aid, plan } },
      priceStep(request, outcome),
    ]
    return { steps, outcome: request.pretend ? outcome : withoutQuotes(outcome) }
  }
}

const FOUND = 'found subscriber'

function notAlone({ kind }: ChargeRequest): RatedMessage {
  const why = `a message of the kind ${kind} is rated with its open session, not by itself`
  return { steps: [{ step: FOUND, ok: true, result: why }], outcome: null }
}

/** The document of a call may name any field; only those of the installation have an index. */
function notSearched(key: string): RatedMessage {
  const why = `subscribers are not searched by ${key} before the file type is stored`
  return { steps: [{ step: FOUND, ok: false, result: { why } }], outcome: null }
}

function unknown(lookedFor: readonly string[]): RatedMessage {
  const outcome = plainOutcome('unknownSubscriber')
  const result = { looked_for: lookedFor, ...described('unknownSubscriber', '') }
  return { steps: [{ step: FOUND, ok: false, result }], outcome }
}

function priceStep(request: ChargeRequest, outcome: ChargeOutcome): CheckStep {
  const { reason, detail, services } = outcome
  const refused = services.find((service) => reasons[service.reason].status !== 'granted')
  const isGranted = reasons[reason].status === 'granted'
  const result = {
    ...(isGranted && refused !== undefined
      ? described(refused.reason, refused.usaget)
      : described(reason, detail)),
    services: services.map((service, index) => ({
      requested: request.services[index]?.requested ?? null,
      ...priceOf(service),
    })),
  }
  return { step: 'price', ok: isGranted && refused === undefined, result }
}

/** Amounts as in a quote. */
function priceOf({ ratingGroup, usaget, reason, granted, quote }: ServiceOutcome) {
  const { arate_key: rate, ...price } = usedResult(quote === null ? [] : [quote.line], 0)
  const { aprice, final_charge, rating } = price
  return {
    usaget,
    ...(ratingGroup >= 0 && { rating_group: ratingGroup }),
    granted,
    ...described(reason, ''),
    ...(quote !== null && { rate, aprice, final_charge, rating }),
  }
}

function described(reason: Reason, detail: string) {
  const { code, text } = reasons[reason]
  return { code, why: detail === '' ? text : `${text}: ${detail}` }
}

/** The network element has not asked for them. */
function withoutQuotes(outcome: ChargeOutcome): ChargeOutcome {
  return { ...outcome, services: outcome.services.map((each) => ({ ...each, quote: null })) }
}
