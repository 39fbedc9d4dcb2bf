/** Quotes usage of a subscriber from the live catalogue, profile and balances; read-only. */
import { customerProfile } from '../../billing/credit/customer-profile.ts'
import type { Accounts } from '../../billing/run/open-accounts.ts'
import { LENIENT } from '../../catalog/compile/document.ts'
import type { Catalog } from '../../catalog/connection.ts'
import { findProfile } from '../../catalog/feed/profiles.ts'
import { readCatalogue } from '../../catalog/feed/read-catalogue.ts'
import { balanceRulesIn } from '../../catalog/settings/event-settings.ts'
import { readCategory } from '../../catalog/settings/stored-config.ts'
import { type Taxation, taxationOf } from '../../catalog/settings/taxation-settings.ts'
import type { Config } from '../../config/schema.ts'
import type { OwnerState } from '../../domain/bucket.ts'
import type { Catalogue, SubscriberProfile } from '../../domain/catalogue.ts'
import { type ChargeRequest, serviceRequest } from '../../domain/charge-request.ts'
import { digestOf } from '../../domain/digest.ts'
import { BalanceRuleSet } from '../../domain/events/rule-set.ts'
import { parseInstant } from '../../domain/time.ts'
import { chargeSession } from '../../rating/charge-session.ts'
import type { ChargeContext, ChargeView } from '../../rating/decision.ts'
import { RateFinder } from '../../rating/match/finder.ts'
import { createTaxMapping } from '../../rating/tax-mapping.ts'
import { print } from '../../runtime/terminal.ts'
import { CommandError, UsageError } from '../errors.ts'
import { loadOwners } from '../owners.ts'
import { type OptionValues, optionalNumber, optionalText, requiredText } from '../parse.ts'
import { type Stores, withStores } from '../stores.ts'
import { deniedResult, type EventResult, usedResult } from './event-result.ts'
import { resultTable } from './result-table.ts'
import { type QuoteSettings, settingsOf } from './settings.ts'

/** The usage to quote. */
export interface LiveUsage {
  sid: number
  usaget: string
  usagev: number
  calledNumber: string
  /** Empty if the rate is to be matched. */
  rateKey: string
  /** Epoch ms. */
  atMs: number
}

/** The state that the quote is computed from. */
export interface LiveState {
  catalogue: Catalogue
  profile: SubscriberProfile
  subscriber: OwnerState
  account: OwnerState
  taxation: Taxation
  /** The event rules with actions; null if there are none. */
  actionRules: BalanceRuleSet | null
}

/** Returns 1 if nothing would be granted. Throws `UsageError` or `CommandError`. */
export async function quoteLive(options: OptionValues, config: Config): Promise<0 | 1> {
  if (options['sid'] === undefined) {
    throw new UsageError('give --cases for a file of cases, or --sid for a subscriber')
  }
  const usageAt = usageFromOptions(options, config.rating.timeZone)
  const quoted = await withStores(config, async (stores) => {
    const nowMs = stores.clock.nowMs()
    const usage = usageAt(nowMs)
    return { state: await readLiveState(stores, config, usage), usage, nowMs }
  })
  const { state, usage, nowMs } = quoted
  const result = quoteUsage(state, usage, settingsOf(config.rating), nowMs)
  if (options['json'] === true) print(JSON.stringify(result))
  else for (const line of resultTable(result, usage)) print(line)
  return result.granted > 0 ? 0 : 1
}

/** Throws `CommandError` if there is no such subscriber. */
export async function readLiveState(
  { catalog, ledger, accounts }: Pick<Stores, 'catalog' | 'ledger' | 'accounts'>,
  { rating }: Pick<Config, 'rating'>,
  usage: LiveUsage,
): Promise<LiveState> {
  const profile = await profileOf(catalog, accounts, usage)
  const [subscriber, account] = await loadOwners(ledger, profile.aid, [usage.sid, 0])
  const catalogue = await readCatalogue(catalog)
  const { value } = await readCategory(catalog, 'taxation')
  const taxation = taxationOf(value, rating)
  const events = await readCategory(catalog, 'events')
  const { withActions: actionRules } = new BalanceRuleSet(balanceRulesIn(events.value).rules)
  return { catalogue, profile, subscriber, account, taxation, actionRules } as LiveState
}

/** Pure. The same decision as for a request with `pretend`. `nowMs`: the node's clock. */
function quoteUsage(
  state: LiveState,
  usage: LiveUsage,
  settings: QuoteSettings,
  nowMs: number,
): EventResult {
  const context = liveContext(state, settings, nowMs)
  const request: ChargeRequest = { ...liveRequest(usage, 'start'), pretend: true }
  const identified = { request, sessionKey: request.sessionId, digest: digestOf(request) }
  const { outcome } = chargeSession(liveView(state), identified, context)
  const service = outcome.services[0]
  const line = service?.quote?.line ?? null
  const action = service?.action ?? null
  if (outcome.reason !== 'granted') return deniedResult(outcome.reason, outcome.detail)
  const result = usedResult(line === null ? [] : [line], 0)
  return action === null ? result : { ...result, action }
}

/** The states on which a request that opens a session is decided. */
export function liveView({ subscriber, account }: LiveState): ChargeView {
  return { subscriber, account, session: null }
}

/** The context of a decision by the rules of the installation. */
export function liveContext(
  { catalogue, profile, taxation, actionRules }: LiveState,
  settings: QuoteSettings,
  nowMs: number,
): ChargeContext {
  const finder = new RateFinder(settings.calculators, settings.rateKeys)
  finder.update([...catalogue.rates].map(([key, revisions]) => ({ key, revisions })))
  return {
    catalogue,
    profile,
    finder,
    nowMs,
    calendar: { zone: settings.timeZone, cycleDay: settings.cycleDay },
    cycleAt: settings.cycleAt,
    defaultTax: taxation.defaultTax,
    mapTax: createTaxMapping(taxation.taxPriorities, catalogue.taxes),
    isFreeNumber: settings.isFreeNumber,
    actionRules,
    settings: {
      validityMs: 1000,
      graceMs: 0,
      replayMs: 0,
      refundMicrosMax: 0,
      refundUnitsMax: 0,
    },
  }
}

export function liveRequest(
  { sid, usaget, usagev, calledNumber, rateKey, atMs }: LiveUsage,
  kind: 'start' | 'event',
): ChargeRequest {
  return {
    kind,
    origin: 'quote',
    sessionId: 'quote',
    requestNumber: -1,
    stamp: '',
    rules: '',
    subscriberKey: 'sid',
    subscriberValue: String(sid),
    eventTimeMs: atMs,
    eventTimeGiven: true,
    services: [serviceRequest({ usaget, requested: usagev, calledNumber, rateKey })],
    wantBalances: false,
    pretend: false,
    refund: false,
    fields: null,
  }
}

/** Checked before the clock is known. Throws `UsageError`. */
export function usageFromOptions(
  options: OptionValues,
  timeZone: string,
): (nowMs: number) => LiveUsage {
  const sid = optionalNumber(options, 'sid')
  if (sid === undefined) throw new UsageError('--sid is missing')
  const usagev = optionalNumber(options, 'usagev')
  if (usagev === undefined) throw new UsageError('--usagev is missing')
  const urt = optionalText(options, 'urt')
  const atMs = urt === undefined ? undefined : parseInstant(urt, timeZone)
  if (atMs === null) throw new UsageError(`--urt must be a date, not '${urt}'`)
  const usage = {
    sid,
    usagev,
    usaget: requiredText(options, 'usaget'),
    calledNumber: optionalText(options, 'called-number') ?? '',
    rateKey: optionalText(options, 'rate') ?? '',
  }
  return (nowMs) => ({ ...usage, atMs: atMs ?? nowMs })
}

async function profileOf(
  catalog: Catalog,
  { lookup }: Pick<Accounts, 'lookup'>,
  { sid, atMs }: LiveUsage,
): Promise<SubscriberProfile> {
  const outside = await customerProfile(lookup, sid, atMs, LENIENT)
  if (outside) return outside
  const query = { key: 'sid', value: String(sid), atMs }
  const stored = outside === null ? null : await findProfile(catalog, query, () => true)
  if (stored !== null) return stored.profile
  throw new CommandError(`there is no subscriber ${sid} at ${new Date(atMs).toISOString()}`)
}
