/** `tollgate event test`: what a rule of balances finds in usage, without charging it. */
import { existsSync } from 'node:fs'
import {
  type LiveUsage,
  liveContext,
  liveRequest,
  liveView,
  readLiveState,
} from '../billing/quote/live.ts'
import { settingsOf } from '../billing/quote/settings.ts'
import type { Catalog } from '../catalog/connection.ts'
import { eventDocument } from '../catalog/records/events/event-document.ts'
import { balanceRulesIn } from '../catalog/settings/events/event-settings.ts'
import { readCategory } from '../catalog/settings/stored-config.ts'
import { reasons } from '../domain/charge-outcome.ts'
import type { ChangedBalance } from '../domain/events/balance.ts'
import type { BalanceEvent } from '../domain/events/event.ts'
import type {
  BalanceExplanation,
  ConditionExplanation,
  PathExplanation,
  RuleTrial,
} from '../domain/events/explain.ts'
import type { BalanceRule } from '../domain/events/rules.ts'
import { isObject } from '../domain/fields.ts'
import { readDocument } from './document-file.ts'
import { CommandError } from './errors.ts'
import type { OptionValues } from './options.ts'
import { liveSource, usageFromOptions } from './quote/live.ts'
import type { Shell } from './shell.ts'
import { withStores } from './stores.ts'
import type { Tools } from './tools.ts'

interface TestedRule {
  rule: BalanceRule
  trial: RuleTrial
}

interface Tested {
  usage: LiveUsage
  aid: number
  tests: TestedRule[]
}

/** Returns 1 if no event would be made. Throws `UsageError` or `CommandError`. */
export async function testRule(
  shell: Shell,
  name: string,
  options: OptionValues,
  tools: Pick<Tools, 'tryRule'>,
): Promise<0 | 1> {
  const config = shell.config()
  const usageAt = usageFromOptions(options, config.rating.timeZone)
  const tested = await withStores(config, async (stores): Promise<Tested> => {
    const rules = await rulesNamed(shell, name, stores.catalog)
    const nowMs = stores.clock.nowMs()
    const usage = usageAt(nowMs)
    const settings = settingsOf(config.rating)
    const state = await readLiveState(liveSource(stores, settings), config, usage)
    const context = liveContext(state, settings, nowMs)
    const request = liveRequest(usage, 'event')
    const tests: TestedRule[] = []
    for (const rule of rules) {
      tests.push({ rule, trial: await tools.tryRule(rule, request, liveView(state), context) })
    }
    return { usage, aid: state.profile.aid, tests }
  })
  if (options['json'] === true) shell.print(JSON.stringify(testedJson(tested)))
  else for (const line of tested.tests.flatMap((each) => testText(tested, each))) shell.print(line)
  return tested.tests.some(({ trial }) => trial.events.length > 0) ? 0 : 1
}

/** The stored rules with this event code, otherwise the rule in a file. */
async function rulesNamed(shell: Shell, name: string, catalog: Catalog): Promise<BalanceRule[]> {
  const { value } = await readCategory(catalog, 'events')
  const hasCode = (one: unknown) => isObject(one) && one['event_code'] === name
  const listed = (key: string): unknown[] => {
    const list: unknown = isObject(value) ? value[key] : undefined
    return Array.isArray(list) ? list : []
  }
  const position = listed('balance').findIndex(hasCode)
  if (position >= 0) {
    const { rules, invalid } = balanceRulesIn(value)
    const found = rules.filter(({ document }) => document.event_code === name)
    if (found.length > 0) return found
    const reason = invalid.find(({ path }) => `${path}.`.startsWith(`events.balance.${position}.`))
    throw new CommandError(`the stored rule ${name} is left out: ${reason?.message ?? 'invalid'}`)
  }
  if (listed('fraud').some(hasCode)) {
    throw new CommandError(`${name} is a rule of usage patterns: only rules of balances are tested`)
  }
  if (name !== '-' && !existsSync(name)) {
    throw new CommandError(`there is no stored rule ${name}, and no such file`)
  }
  const { rules, invalid } = balanceRulesIn({ balance: [await readDocument(shell, name)] })
  const [error] = invalid
  if (error === undefined) return rules
  const path = error.path.replace(/^events\.balance\.0\.?/, '')
  throw new CommandError(`${name}: ${path} ${error.reason}`.replace(':  ', ': '))
}

function testedJson({ usage, aid, tests }: Tested): object {
  const { sid, usaget, usagev } = usage
  return { aid, sid, usaget, usagev, rules: tests.map(ruleJson) }
}

function ruleJson({ rule, trial }: TestedRule): object {
  const { reason, plan, excludedBy, balances, events } = trial
  return {
    event_code: rule.document.event_code,
    returnCode: reasons[reason].code,
    plan,
    excluded_by: excludedBy,
    balances: balances.map(balanceJson),
    events: events.map(eventJson),
  }
}

function balanceJson({ balance, isTested, isMet, conditions }: BalanceExplanation): object {
  const { sid, isPrepaid, bucket } = balance
  const { fromMs, toMs } = bucket
  return {
    sid,
    ...(isPrepaid ? { bucket_id: bucket.id } : {}),
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    tested: isTested,
    met: isMet,
    conditions: conditions.map(({ type, isMet: met, decides, paths }) => ({
      type,
      met,
      decides,
      paths: paths.map(({ match, ...path }) => ({ ...path, met: match !== null })),
    })),
  }
}

/** As it would be stored, except for its delivery. */
function eventJson(event: BalanceEvent): object {
  const { delivery, receiver, ...document } = eventDocument(event)
  return document
}

function testText({ usage, aid }: Tested, { rule, trial }: TestedRule): string[] {
  const { sid, usaget, usagev } = usage
  const { excludedBy, reason, plan, detail, balances, events } = trial
  const code = rule.document.event_code
  const who = `subscriber ${sid} of account ${aid}`
  const head = `${code}: ${usagev} ${usaget} used by ${who}${plan === '' ? '' : `, plan ${plan}`}`
  if (reason !== 'granted') {
    const why = detail === '' ? reasons[reason].text : detail
    return [head, `  denied (${why}): nothing is counted, no event`]
  }
  if (excludedBy !== null) return [head, `  ${exclusionText(excludedBy, { aid, sid, plan })}`]
  const isPrepaidOnly = rule.document.prepaid === true
  return [
    head,
    ...(balances.length === 0 ? ['  no balance changes'] : []),
    ...balances.flatMap((balance) => balanceText(balance, isPrepaidOnly)),
    ...(events.length === 0 ? ['  no event'] : events.map(eventText)),
  ]
}

function exclusionText(
  excludedBy: NonNullable<RuleTrial['excludedBy']>,
  { aid, sid, plan }: { aid: number; sid: number; plan: string },
): string {
  switch (excludedBy) {
    case 'active':
      return 'the rule is off (active: false)'
    case 'plan':
      return `the rule is not for plan ${plan} (filter.plan)`
    case 'service':
      return `the rule is not for the services of subscriber ${sid} (filter.service)`
    default:
      return `the rule is not for account ${aid} (filter.aid)`
  }
}

function balanceText(explained: BalanceExplanation, isPrepaidOnly: boolean): string[] {
  const { balance, isTested, isMet, conditions } = explained
  const name = `  ${balanceName(balance)}`
  if (!isTested) {
    const why =
      isPrepaidOnly && !balance.isPrepaid
        ? 'the rule is for prepaid balances'
        : 'it has no such path, or the value does not change'
    return [`${name}: not tested: ${why}`]
  }
  return [`${name}: ${isMet ? 'met' : 'not met'}`, ...conditions.flatMap(conditionText)]
}

function balanceName({ sid, isPrepaid, bucket }: ChangedBalance): string {
  const owner = sid === 0 ? 'the account' : `subscriber ${sid}`
  if (isPrepaid) return `bucket ${bucket.id} of ${owner} (include ${bucket.prepaidIncludeId})`
  const [from, to] = [bucket.fromMs, bucket.toMs].map((ms) => new Date(ms).toISOString())
  return `counters of ${owner} from ${from} to ${to}`
}

function conditionText({ type, isMet, decides, paths }: ConditionExplanation): string[] {
  const role = decides ? ', its paths are reported' : ''
  return [`    ${type}: ${isMet ? 'met' : 'not met'}${role}`, ...paths.map(pathText)]
}

function pathText({ path, before, after, constants, match }: PathExplanation): string {
  const values = before === undefined ? 'not in this balance' : `${before} -> ${after}`
  const compared = constants.length === 0 ? '' : ` (${constants.join(', ')})`
  const reached = match?.reached === undefined ? '' : `, reached ${match.reached}`
  return `      ${path}: ${values}${compared}: ${match === null ? 'not met' : 'met'}${reached}`
}

function eventText({ event_type: type, matched_path: path, before, after, ...more }: BalanceEvent) {
  const { reached_constant: reached, stamp } = more
  const constant = reached === undefined ? '' : `, reached ${reached}`
  return `  event ${stamp} of type ${type}: ${path} ${before} -> ${after}${constant}`
}
