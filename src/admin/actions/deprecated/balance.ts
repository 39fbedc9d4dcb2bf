/** `balance`: what an account has to pay in the current cycle so far, as XML. */
import { Type } from '@sinclair/typebox'
import { calendarOf } from '../../../billing/credit/credits.ts'
import { CycleError } from '../../../billing/cycle/compute.ts'
import { keyAt } from '../../../billing/cycle/cycle-key.ts'
import { runCycleOf } from '../../../billing/cycle/run-cycle.ts'
import { expectedInvoice } from '../../../billing/run/expected.ts'
import { AccountInputError } from '../../../billing/run/read-accounts.ts'
import type { Catalog } from '../../../catalog/connection.ts'
import type { InvoiceDocument } from '../../../catalog/records/money/invoice-document.ts'
import type { Fields } from '../../../domain/fields.ts'
import { escapeXml } from '../../../domain/xml-text.ts'
import { dateText } from '../../../entities/views.ts'
import { integerOf } from '../../../requests/cast-value.ts'
import { ActionError } from '../../../requests/errors.ts'
import { type ActionCall, action, FILE } from '../action.ts'
import { cycleOf } from '../billrun/cycle-of.ts'
import { param } from '../parameters.ts'

const MEDIA_TYPE = 'application/xml'
const SUBSCRIBERS_MAX = 1_000
const LINES_MAX = 10_000
const HOUR_MS = 3_600_000

export const balance = action({
  name: 'balance',
  level: 'read',
  about: 'What an account has to pay in the current cycle so far, as XML',
  isReadByGet: true,
  parameters: Type.Object({
    account_id: param.optional(param.json('Number of the account; `aid` is accepted, too.')),
    aid: param.optional(param.json('Number of the account.')),
    subscribers: param.optional(
      param.json('Subscribers with their lines: 0 for all, or numbers separated by commas.'),
    ),
  }),
  answer: {},
  files: [MEDIA_TYPE],
  example: { parameters: { account_id: 1001, subscribers: 0 }, answer: {} },
  async run({ account_id: account, aid: other, subscribers }, call) {
    const value = account === undefined || account === '' ? other : account
    const aid = value === undefined || value === '' ? null : integerOf(value)
    if (aid === null || aid < 1) throw new ActionError('aid field is not numeric', { path: 'aid' })
    const requested = requestedSids(subscribers)
    const text = requested === null ? 'none' : requested.join()
    const xml = await cached(call, `${aid}/${text}`, async () =>
      xmlOf(await readBalance(call, aid, requested)),
    )
    const bytes = Buffer.from(xml)
    return { [FILE]: { bytes, mediaType: `${MEDIA_TYPE}; charset=utf-8`, fileName: 'balance.xml' } }
  },
})

/** Numbers of subscribers; empty for all, null for none. */
function requestedSids(value: unknown): readonly number[] | null {
  if (value === undefined || value === '') return null
  const list: readonly unknown[] = Array.isArray(value) ? value : String(value).split(',')
  if (list.length > SUBSCRIBERS_MAX) {
    throw new ActionError(`Maximum of subscribers is ${SUBSCRIBERS_MAX}`, { path: 'subscribers' })
  }
  const sids = list.map((each) => {
    const sid = integerOf(typeof each === 'string' ? each.trim() : each)
    if (sid === null || sid < 0)
      throw new ActionError('subscribers field is not numeric', { path: 'subscribers' })
    return sid
  })
  return sids.includes(0) ? [] : [...new Set(sids)].sort((a, b) => a - b)
}

interface AccountBalance {
  readonly aid: number
  readonly key: string
  readonly time: string
  readonly invoice: InvoiceDocument | null
  readonly subscribers: readonly SubscriberBalance[]
}

interface SubscriberBalance {
  readonly sid: number
  readonly total: string
  readonly lines: readonly Fields[]
}

async function readBalance(
  call: ActionCall,
  aid: number,
  requested: readonly number[] | null,
): Promise<AccountBalance> {
  const { config, nowMs } = call
  if (!(await hasAccount(call, aid)))
    throw new ActionError(`there is no account ${aid}`, { path: 'aid' })
  const calendar = calendarOf(config)
  const key = keyAt(nowMs, calendar)
  const cycle = runCycleOf({ key, invoicingDay: null }, calendar)
  const whole = { account: null, subscribers: null, ignoresLines: false }
  try {
    const wish = { aid, cycle, ...whole, nowMs }
    const { openAccounts, compute } = cycleOf(call)
    const expected = await expectedInvoice({ ...call, openAccounts }, compute, wish)
    const invoice = expected === null ? null : expected.invoice
    const subscribers = await subscribersOf(call, { aid, key, requested, invoice })
    const time = dateText(nowMs, config.rating.timeZone)
    return { aid, key, time, invoice, subscribers }
  } catch (error) {
    const isOfAccount = error instanceof CycleError || error instanceof AccountInputError
    throw isOfAccount ? new ActionError(error.message, { path: 'aid' }) : error
  }
}

async function hasAccount({ catalog, lookup, nowMs }: ActionCall, aid: number): Promise<boolean> {
  const customers = await lookup.accounts([aid], nowMs)
  if (customers !== null) return customers.has(aid)
  const found = await catalog.subscribers.findOne({
    type: 'account',
    aid,
    deleted: { $ne: true },
  } as object)
  return found !== null
}

/** The recorded lines; those of plans and services are written at the end of the cycle. */
async function subscribersOf(
  { catalog, config }: ActionCall,
  balanced: {
    readonly aid: number
    readonly key: string
    readonly requested: readonly number[] | null
    readonly invoice: InvoiceDocument | null
  },
): Promise<readonly SubscriberBalance[]> {
  const { aid, key, requested, invoice } = balanced
  if (requested === null) return []
  const isSelected = (sid: number) => requested.length === 0 || requested.includes(sid)
  const filter = {
    aid,
    billrun: key,
    type: { $ne: 'balance' },
    ...(requested.length > 0 && { sid: { $in: requested } }),
  }
  const found = (await catalog.reads.lines
    .find(filter as object)
    .sort({ urt: 1 })
    .limit(LINES_MAX + 1)
    .toArray()) as unknown as Fields[]
  if (found.length > LINES_MAX) {
    throw new ActionError(`Maximum of lines is ${LINES_MAX}: name fewer subscribers`, 'refused')
  }
  const totals = new Map(
    (invoice?.subs ?? []).map(({ sid, totals: { exact } }) => [sid, exact.after_vat]),
  )
  const sids = new Set([...totals.keys(), ...found.map((line) => Number(line['sid']))])
  const lineOf = (line: Fields) => ({
    ...line,
    urt: line['urt'] instanceof Date ? dateText(line['urt'].getTime(), config.rating.timeZone) : '',
  })
  return [...sids]
    .filter(isSelected)
    .sort((a, b) => a - b)
    .map((sid) => ({
      sid,
      total: totals.get(sid) ?? '0',
      lines: found.filter((line) => Number(line['sid']) === sid).map(lineOf),
    }))
}

const LINE_FIELDS = [
  'stamp',
  'urt',
  'type',
  'usaget',
  'usagev',
  'arate_key',
  'aprice',
  'final_charge',
] as const

function xmlOf({ aid, key, time, invoice, subscribers }: AccountBalance): string {
  const totals = invoice?.totals.exact
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<balance>',
    element('account_id', aid),
    element('billrun_key', key),
    element('time', time),
    element('total_before_vat', totals?.before_vat ?? '0'),
    element('total', totals?.after_vat ?? '0'),
    '<subscribers>',
    ...subscribers.map(subscriberXml),
    '</subscribers>',
    '</balance>',
    '',
  ].join('\n')
}

function subscriberXml({ sid, total, lines }: SubscriberBalance): string {
  const each = lines.map((line) => {
    const fields = LINE_FIELDS.filter((name) => line[name] !== undefined && line[name] !== null)
    return `<line>${fields.map((name) => element(name, line[name])).join('')}</line>`
  })
  const head = `${element('sid', sid)}${element('total', total)}`
  return `<subscriber>${head}<lines>${each.join('')}</lines></subscriber>`
}

function element(name: string, value: unknown): string {
  return `<${name}>${escapeXml(String(value))}</${name}>`
}

interface Cached {
  readonly xml: string
  readonly untilMs: number
}

const CACHED_MAX = 1_000
/** Answers by account and subscribers; each store has its own. */
const caches = new WeakMap<Catalog, Map<string, Cached>>()

async function cached(
  { catalog, config, nowMs }: ActionCall,
  key: string,
  compute: () => Promise<string>,
): Promise<string> {
  const { balanceCacheHours: hours } = config.actions
  const cache = caches.get(catalog) ?? new Map<string, Cached>()
  caches.set(catalog, cache)
  const found = cache.get(key)
  if (found !== undefined && nowMs < found.untilMs) return found.xml
  const xml = await compute()
  cache.delete(key)
  if (hours === 0) return xml
  cache.set(key, { xml, untilMs: nowMs + hours * HOUR_MS })
  const [oldest] = cache.keys()
  if (cache.size > CACHED_MAX && oldest !== undefined) cache.delete(oldest)
  return xml
}
