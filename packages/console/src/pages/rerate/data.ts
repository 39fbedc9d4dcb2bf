/** Rerating: the preview of a selection, the run that changes it, and its accounts. */
import type { BodyOf, DetailsOf } from '../../api/call-types.ts'
import { type CallOptions, call, get } from '../../api/client.ts'
import type { DecimalText } from '../../api/figures.ts'
import { PAGE_SIZE, type Page } from '../../api/records.ts'
import { formatMoney } from '../../parts/numbers.ts'

type Details = DetailsOf<'api/rerate'>
export type RerateDifferences = Extract<Details, { readonly totals: unknown }>
export type RerateAccount = RerateDifferences['accounts'][number]
export type ReratedLine = RerateDifferences['totals']['largest'][number]
type RunDetails = DetailsOf<'api/rerates'>
export type RunAccount = RunDetails['accounts'][number]
export type RerateJob = NonNullable<RunDetails['job']>

/** Parameters of the call and of the address; empty ones are left out. */
export const FIELDS = ['from', 'to', 'rate', 'plan', 'sid', 'file_type'] as const
export type RerateSelection = Readonly<Record<(typeof FIELDS)[number], string>>

/** A preview, and what it was made of. */
export interface Previewed {
  readonly selection: RerateSelection
  readonly preview: RerateDifferences
}

export function selectionIn(values: Readonly<Record<string, string>>): RerateSelection {
  const entries = FIELDS.map((name) => [name, values[name]?.trim() ?? ''])
  return Object.fromEntries(entries) as RerateSelection
}

export function orderOf({ from, sid, ...others }: RerateSelection): BodyOf<'api/rerate'> {
  const given = Object.entries(others).filter(([, value]) => value !== '')
  return { from, ...Object.fromEntries(given), ...(sid !== '' && { sid: Number(sid) }) }
}

/** First day of the current cycle, in the zone of the node. */
export async function readBegin(signal: AbortSignal): Promise<string> {
  const cycles = await get('billrun/cycles', {}, { signal })
  const current = cycles.find(({ cycle_status: status }) => status === 'current')
  return current?.start_date.slice(0, 10) ?? ''
}

/** Throws `Refusal`. */
export async function previewRerate(
  selection: RerateSelection,
  signal: AbortSignal,
): Promise<RerateDifferences> {
  const body = { ...orderOf(selection), dry_run: true }
  return (await call('api/rerate', body, { signal, mayRepeat: true })) as RerateDifferences
}

/** Repeated while the run is not done, it is the same run. Throws `Refusal`. */
export async function beginRerate(selection: RerateSelection, key: string): Promise<void> {
  await call('api/rerate', orderOf(selection), { idempotencyKey: key })
}

export const ACCOUNT_STATES = ['planned', 'partial', 'applied', 'unchanged', 'refused'] as const

export interface Run extends Page<RunAccount> {
  /** Null if there was none. */
  readonly job: RerateJob | null
}

/** The last run with a page of its accounts; `after`: number of the page. */
export async function readRun(
  state: string,
  after: string | null,
  options: CallOptions,
): Promise<Run> {
  const page = Number(after ?? 0)
  const known = ACCOUNT_STATES.find((each) => each === state)
  const query = { ...(known && { state: known }), page, size: PAGE_SIZE }
  const { job, accounts, next_page: hasMore } = await get('api/rerates', query, options)
  return { job, rows: accounts, next: hasMore ? String(page + 1) : null }
}

/** `failed`: ended by an error. `refused`: done, but not with all accounts. */
export type RunOutcome = RerateJob['state'] | 'failed' | 'refused'

export function outcomeOf({
  state,
  error,
  counts,
}: Pick<RerateJob, 'state' | 'error' | 'counts'>): RunOutcome {
  if (state !== 'done') return state
  if (error !== '') return 'failed'
  return Number(counts['refused'] ?? 0) > 0 ? 'refused' : 'done'
}

export interface ReasonCount {
  readonly text: string
  /** Accounts, once for each cycle. */
  readonly accounts: number
  /** Lines; 0 if the reason is one of the account as a whole. */
  readonly lines: number
}

/** Why accounts cannot be rerated, by how many it is. */
export function reasonsOf(
  accounts: readonly Pick<RerateAccount, 'refused'>[],
): readonly ReasonCount[] {
  const counts = new Map<string, ReasonCount>()
  for (const { refused } of accounts) {
    for (const text of new Set(refused.map((each) => each.text))) {
      const lines = refused.filter((each) => each.text === text && each.stamp !== '').length
      const former = counts.get(text) ?? { accounts: 0, lines: 0 }
      counts.set(text, { text, accounts: former.accounts + 1, lines: former.lines + lines })
    }
  }
  return [...counts.values()].sort((a, b) => b.accounts - a.accounts || b.lines - a.lines)
}

/** An amount as the API has it. */
export function amount(text: string): string {
  return formatMoney(text as DecimalText)
}

/** Money that the next run of the cycle moves for confirmed invoices; null for none. */
export function correctionOf(sum: string): { how: 'credit' | 'charge'; amount: string } | null {
  if (!/[1-9]/.test(sum)) return null
  return sum.startsWith('-')
    ? { how: 'credit', amount: sum.slice(1) }
    : { how: 'charge', amount: sum }
}
