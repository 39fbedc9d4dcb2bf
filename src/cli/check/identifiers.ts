/**
 * Finds identifiers that two subscribers have at the same time, and numbers that are stored in
 * another form than that of requests. Two passes over all revisions in
 * the order of subscribers: the first marks values that several subscribers may have in a hash
 * table of fixed size, the second compares the marked values exactly.
 */
import type { Catalog } from '../../catalog/connection.ts'
import { identifiersIn } from '../../catalog/entities/identifiers.ts'
import type { Fields } from '../../domain/fields.ts'
import { type Numbering, readNumber } from '../../domain/numbering.ts'
import { overlap, type RevisionSpan, spanOf } from '../../entities/timeline/spans.ts'
import type { Problems } from './problem.ts'

interface IdentifierSpan extends RevisionSpan {
  sid: number
}

/** Identifiers of one subscriber with their periods. */
type Values = ReadonlyMap<string, readonly IdentifierSpan[]>

/** Marks of the first pass. Two bits would do; a byte is simpler. */
const MARKS = 1 << 24
const BATCH = 1000

export interface Identifiers {
  /** Fields whose values no two subscribers may have at the same time. */
  readonly unique: readonly string[]
  /** Fields that are numbers in networks. */
  readonly numberings: ReadonlyMap<string, Numbering>
}

export async function checkIdentifiers(
  catalog: Catalog,
  { unique, numberings }: Identifiers,
  problems: Problems,
): Promise<void> {
  const marks = new Uint8Array(MARKS)
  for await (const [sid, values] of subscribers(catalog, [...unique, ...numberings.keys()])) {
    for (const name of values.keys()) {
      reportNumber(sid, name, numberings, problems)
      const at = hashOf(name)
      marks[at] = Math.min(2, (marks[at] ?? 0) + 1)
    }
  }
  const holders = new Map<string, IdentifierSpan[]>()
  for await (const [, values] of subscribers(catalog, unique)) {
    for (const [name, spans] of values) {
      if (marks[hashOf(name)] !== 2) continue
      const others = holders.get(name) ?? []
      holders.set(name, [...others, ...spans])
    }
  }
  for (const [name, spans] of holders) report(name, spans, problems)
}

/** A number in another form than that of requests. */
function reportNumber(
  sid: number,
  name: string,
  numberings: ReadonlyMap<string, Numbering>,
  problems: Problems,
): void {
  const [field = '', value = ''] = JSON.parse(name) as string[]
  const read = readNumber(numberings.get(field) ?? 'any', value)
  if ('value' in read && read.value === value) return
  const reason = 'reason' in read ? read.reason : `must be ${read.value}`
  const text = `subscribers ${sid}: ${field} ${reason}, is '${value}': charging does not find it`
  problems.add({ kind: 'number', collection: 'subscribers', key: String(sid), text })
}

function report(name: string, holders: readonly IdentifierSpan[], problems: Problems): void {
  const sids = new Set<number>()
  const sorted = [...holders].sort((a, b) => a.fromMs - b.fromMs)
  for (const [index, one] of sorted.entries()) {
    for (const other of sorted.slice(index + 1)) {
      if (other.fromMs >= one.toMs) break
      if (other.sid === one.sid || !overlap(one, other)) continue
      sids.add(one.sid).add(other.sid)
    }
  }
  if (sids.size === 0) return
  const [field = '', value = ''] = JSON.parse(name) as string[]
  const whose = [...sids].sort((a, b) => a - b).join(', ')
  const text = `${field} ${value} belongs to several subscribers at the same time: sid ${whose}`
  problems.add({ kind: 'duplicate_identifier', collection: 'subscribers', key: value, text })
}

/** The identifiers of each subscriber with the periods in which it has them. */
async function* subscribers(
  catalog: Catalog,
  names: readonly string[],
): AsyncGenerator<[sid: number, Values]> {
  const fields = [...new Set(names)]
  const projection = Object.fromEntries(fields.map((field) => [field, 1]))
  let sid = 0
  let values = new Map<string, IdentifierSpan[]>()
  for await (const revision of revisions(catalog, { ...projection, sid: 1, from: 1, to: 1 })) {
    if (revision['sid'] !== sid) {
      yield [sid, values]
      values = new Map()
      sid = Number(revision['sid'])
    }
    for (const field of fields) {
      for (const value of identifiersIn(revision, field)) {
        const name = JSON.stringify([field, value])
        values.set(name, [...(values.get(name) ?? []), { sid, ...spanOf(revision) }])
      }
    }
  }
  yield [sid, values]
}

/** Revisions in index order; each page continues where the previous one ended. */
async function* revisions(catalog: Catalog, projection: Record<string, 1>): AsyncGenerator<Fields> {
  let sid = 0
  for (let size = BATCH; ; ) {
    const filter = { sid: { $gt: sid }, type: 'subscriber', deleted: { $ne: true } } as const
    const page = (await catalog.reads.subscribers
      .find(filter as object, { projection })
      .sort({ sid: 1, from: 1 })
      .limit(size)
      .toArray()) as Fields[]
    const isEnd = page.length < size
    const last = page.at(-1)?.['sid']
    // The last subscriber may have further revisions on the next page.
    const whole = isEnd ? page : page.filter((one) => one['sid'] !== last)
    yield* whole
    if (isEnd) return
    if (whole.length === 0) size *= 2
    else sid = Number(whole.at(-1)?.['sid'])
  }
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  return (hash >>> 0) % MARKS
}
