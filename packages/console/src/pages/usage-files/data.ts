/** Files of usage records, and records that were rejected. */
import type { DetailsOf } from '../../api/call-types.ts'
import { type CallOptions, call, get } from '../../api/client.ts'
import { Refusal } from '../../api/errors.ts'
import { PAGE_SIZE, type Page } from '../../api/records.ts'

export type UsageFile = DetailsOf<'api/lines/files'>[number]
export type RejectedRecord = DetailsOf<'api/lines/rejected'>[number]

export const FILE_STATES = ['running', 'done', 'failed'] as const
export const COUNTS = ['read', 'charged', 'duplicates', 'filtered', 'rejected'] as const
/** Besides `waiting`, which are shown without a choice. */
export const OTHER_STATES = ['submitted', 'corrected', 'dropped', 'all'] as const

type Query = Readonly<Record<string, string>>

/** `after`: number of the page. */
export async function readFiles(
  { file, state }: Query,
  after: string | null,
  options: CallOptions,
): Promise<Page<UsageFile>> {
  const page = Number(after ?? 0)
  const known = FILE_STATES.find((each) => each === state)
  const query = { ...(file && { file }), ...(known && { state: known }), page, size: PAGE_SIZE }
  return paged(await get('api/lines/files', query, options), page)
}

/** By the parameters of the address; those that wait, if it names no other state. */
export async function readRejected(
  { file, type, reason, state }: Query,
  after: string | null,
  signal: AbortSignal,
): Promise<Page<RejectedRecord>> {
  const page = Number(after ?? 0)
  const known: (typeof OTHER_STATES)[number] | 'waiting' =
    OTHER_STATES.find((each) => each === state) ?? 'waiting'
  const query = {
    ...(file && { file }),
    ...(type && { file_type: type }),
    ...(reason && { reason }),
    ...(known !== 'all' && { state: known }),
  }
  const more = { page, size: PAGE_SIZE }
  return paged(await get('api/lines/rejected', { ...query, ...more }, { signal }), page)
}

export function readRecord(id: string, signal: AbortSignal): Promise<readonly RejectedRecord[]> {
  return get('api/lines/rejected', { id }, { signal })
}

function paged<Row>(rows: readonly Row[], page: number): Page<Row> {
  return { rows, next: rows.length === PAGE_SIZE ? String(page + 1) : null }
}

export type Resubmission = Pick<DetailsOf<'api/lines/resubmit'>, 'state' | 'reason'>

/** Without a text as it is. Throws `Refusal`. */
export function resubmit(id: string, text?: string): Promise<Resubmission> {
  return call('api/lines/resubmit', { id, ...(text !== undefined && { text }) })
}

/** Throws `Refusal`. */
export async function drop(id: string): Promise<void> {
  await call('api/lines/drop', { id })
}

export const OUTCOMES = [
  ...(['charged', 'duplicate', 'filtered', 'rejected', 'dropped', 'gone'] as const),
]
/** `gone`: it does not wait any more. */
export type Outcome = (typeof OUTCOMES)[number]

export type Handling = 'resubmit' | 'drop'

/** A submitted record may have been charged: it cannot be dropped. */
export function canHandle(how: Handling, { state }: Pick<RejectedRecord, 'state'>): boolean {
  return state === 'waiting' || (how === 'resubmit' && state === 'submitted')
}

const HANDLE: Readonly<Record<Handling, (id: string) => Promise<Outcome>>> = {
  resubmit: async (id) => (await resubmit(id)).state,
  async drop(id) {
    await drop(id)
    return 'dropped'
  },
}

/** Throws `Refusal`, but not of a record that somebody else has handled. */
export async function handle(how: Handling, id: string): Promise<Outcome> {
  try {
    return await HANDLE[how](id)
  } catch (error) {
    if (error instanceof Refusal && isGone(error)) return 'gone'
    throw error
  }
}

function isGone({ fields }: Refusal): boolean {
  return fields.some(({ path, code }) => path === 'id' && code === 'unknown')
}

/**
 * One after the other. After a failure another call goes on with those that have no outcome yet:
 * the outcomes are kept in `known`.
 */
export async function handleEach(
  ids: readonly string[],
  known: Map<string, Outcome>,
  act: (id: string) => Promise<Outcome>,
  onEach: () => void,
): Promise<void> {
  for (const id of ids) {
    if (known.has(id)) continue
    known.set(id, await act(id))
    onEach()
  }
}

/** How many records have each outcome; those that none has are left out. */
export function countsOf(outcomes: Iterable<Outcome>): readonly [Outcome, number][] {
  const all = [...outcomes]
  return OUTCOMES.flatMap((outcome) => {
    const count = all.filter((each) => each === outcome).length
    return count === 0 ? [] : [[outcome, count] as [Outcome, number]]
  })
}

/** Such as `msisdn is required`; of the record as a whole just the reason. */
export function problemOf({ field, reason }: Pick<RejectedRecord, 'field' | 'reason'>): string {
  return field === 'record' ? reason : `${field} ${reason}`
}
