/**
 * Revisions of an account and its subscribers as holdings: who held which plan or service from when
 * to when. Instants are cut here, calendar days by `days.ts`; nothing else computes with dates.
 */
import {
  arrayAt,
  dateAt,
  type Fields,
  isEmpty,
  isUnset,
  objectAt,
  textAt,
  wholeAt,
} from '../../domain/fields.ts'
import { FOREVER_MS } from '../../domain/time.ts'
import { dayAfter, dayOf } from './days.ts'
import type { HolderRevisions, StoredRevision } from './input.ts'
import type { ChargeKind } from './lines.ts'

/** A part of a holding under the same revisions of account and subscriber. */
export interface Piece {
  readonly fromMs: number
  readonly toMs: number
  /** Null if the holder is the account. */
  readonly subscriber: StoredRevision | null
  readonly account: StoredRevision | null
}

/** An uninterrupted time in which a holder has a plan, or one instance of a service. */
export interface Holding {
  /** 0: the account. */
  readonly sid: number
  readonly kind: ChargeKind
  readonly name: string
  /** Distinguishes instances of a service. */
  readonly serviceId?: string
  readonly quantity: number
  /** The service is included in this plan. */
  readonly includedIn?: string
  /** Months are counted from here. */
  readonly activationMs: number
  readonly fromMs: number
  readonly toMs: number
  /** Calendar days [fromDay, toDay). A day shared with the holding before counts for that one. */
  readonly fromDay: number
  readonly toDay: number
  /** Its end is the end of the holder itself. */
  readonly isTermination: boolean
  /** Contiguous, in order, at least one. */
  readonly pieces: readonly Piece[]
}

export interface Holder {
  readonly sid: number
  /** Revisions in order; of sid 0 those of the account. */
  readonly pieces: readonly Piece[]
  /** End of its last revision; a later one ends if the window ends. */
  readonly endMs: number
  readonly holdings: readonly Holding[]
}

/**
 * The holders of an account, the account first. Throws `FieldError` with the path of an invalid
 * field.
 */
export function holdersOf(
  { account, subscribers, elsewhere = [] }: HolderRevisions,
  zone: string,
): Holder[] {
  const accounts = byFrom(account)
  const own = accounts.flatMap((revision) => pieceOf(revision, null, revision))
  const [bySid, others] = [revisionsBySid(subscribers), revisionsBySid(elsewhere)]
  const sids = [...bySid.keys()].sort((one, other) => one - other)
  return [
    holderOf(0, own, [], zone),
    ...sids.map((sid) => {
      const pieces = (bySid.get(sid) ?? []).flatMap((each) => piecesOf(each, accounts))
      const foreign = (others.get(sid) ?? []).flatMap((each) => pieceOf(each, each, null))
      return holderOf(sid, pieces, foreign, zone)
    }),
  ]
}

function revisionsBySid(revisions: readonly StoredRevision[]): Map<number, StoredRevision[]> {
  const bySid = new Map<number, StoredRevision[]>()
  for (const revision of byFrom(revisions)) {
    const sid = wholeAt(revision['sid'], 'sid', 1)
    bySid.set(sid, [...(bySid.get(sid) ?? []), revision])
  }
  return bySid
}

function byFrom(revisions: readonly StoredRevision[]): StoredRevision[] {
  return [...revisions].sort((one, other) => one.from.getTime() - other.from.getTime())
}

/** The revision, within the existence of its subscriber. */
function pieceOf(
  revision: StoredRevision,
  subscriber: StoredRevision | null,
  account: StoredRevision | null,
): Piece[] {
  const from = revision.from.getTime()
  const fromMs = Math.max(from, dateAt(revision['activation_date'], 'activation_date') ?? from)
  const ends = [
    dateAt(revision.to, 'to'),
    dateAt(revision['deactivation_date'], 'deactivation_date'),
  ]
  const toMs = Math.min(FOREVER_MS, ...ends.map((end) => end ?? FOREVER_MS))
  return fromMs < toMs ? [{ fromMs, toMs, subscriber, account }] : []
}

/** Cut where the revision of the account changes, whose overrides apply too. */
function piecesOf(revision: StoredRevision, accounts: readonly StoredRevision[]): Piece[] {
  return pieceOf(revision, revision, null).flatMap((whole) => {
    const cuts = accounts
      .map(({ from }) => from.getTime())
      .filter((atMs) => atMs > whole.fromMs && atMs < whole.toMs)
    const starts = [whole.fromMs, ...cuts]
    return starts.map((fromMs, index) => ({
      ...whole,
      fromMs,
      toMs: starts[index + 1] ?? whole.toMs,
      account: accounts.findLast(({ from }) => from.getTime() <= fromMs) ?? null,
    }))
  })
}

/** `foreign`: of the subscriber in other accounts. */
function holderOf(
  sid: number,
  pieces: readonly Piece[],
  foreign: readonly Piece[],
  zone: string,
): Holder {
  const endMs = endOf(pieces)
  const others = runsOf(sid, foreign)
  const holdings = [...runsOf(sid, pieces)].flatMap(([id, own]) =>
    holdingsOf(sid, own, others.get(id) ?? [], endMs, zone),
  )
  return { sid, pieces, endMs, holdings }
}

/** By identity of what is charged. */
function runsOf(sid: number, pieces: readonly Piece[]): Map<string, Run[]> {
  const runs = new Map<string, Run[]>()
  for (const piece of pieces) {
    const plan = sid === 0 ? null : planRun(piece)
    for (const run of plan === null ? servicesOf(piece) : [plan, ...servicesOf(piece)]) {
      const id = instanceId(run)
      const known = runs.get(id) ?? []
      runs.set(id, known)
      const last = known.at(-1)
      if (last !== undefined && continues(last, run)) {
        last.toMs = Math.max(last.toMs, run.toMs)
        last.pieces.push(...run.pieces)
      } else known.push(run)
    }
  }
  return runs
}

/** A subscriber whose later revisions are outside of the window has a later `deactivation_date`. */
function endOf(pieces: readonly Piece[]): number {
  const last = pieces.at(-1)
  if (last === undefined) return 0
  const stored = (last.subscriber ?? last.account)?.['deactivation_date']
  const endMs = dateAt(stored, 'deactivation_date') ?? 0
  return Math.max(last.toMs, Math.min(endMs, FOREVER_MS))
}

interface Run {
  kind: ChargeKind
  name: string
  serviceId: string | undefined
  quantity: number
  activationMs: number
  fromMs: number
  toMs: number
  pieces: Piece[]
}

/** Identity of what is charged, without its time: two of one identity never overlap. */
export function instanceId(
  of: Pick<Holding, 'kind' | 'name'> & { serviceId?: string | undefined },
) {
  return `${of.kind}/${of.name}/${of.serviceId ?? ''}`
}

function continues(last: Run, next: Run): boolean {
  if (last.toMs < next.fromMs || last.quantity !== next.quantity) return false
  // A plan continues; a service that was booked again is a new one.
  return last.kind === 'flat' || last.activationMs === next.activationMs
}

function planRun(piece: Piece): Run | null {
  const { subscriber, fromMs } = piece
  const plan = subscriber?.['plan']
  if (subscriber === null || isUnset(plan)) return null
  const activation = dateAt(subscriber['plan_activation'], 'plan_activation') ?? fromMs
  const end = dateAt(subscriber['plan_deactivation'], 'plan_deactivation') ?? FOREVER_MS
  const toMs = end > fromMs ? Math.min(piece.toMs, end) : piece.toMs
  return {
    kind: 'flat',
    name: textAt(plan, 'plan'),
    serviceId: undefined,
    quantity: 1,
    activationMs: Math.min(activation, fromMs),
    fromMs,
    toMs,
    pieces: [{ ...piece, toMs }],
  }
}

function servicesOf(piece: Piece): Run[] {
  const holder = piece.subscriber ?? piece.account
  const services = holder?.['services']
  if (holder === null || isEmpty(services)) return []
  const counts = new Map<string, number>()
  return arrayAt(services, 'services').flatMap((entry, index) => {
    const run = serviceRun(entry, `services.${index}`, piece, holder, counts)
    return run.fromMs < run.toMs ? [run] : []
  })
}

/** Instances without a `service_id` are distinguished by their order. */
function serviceRun(
  entry: unknown,
  path: string,
  piece: Piece,
  holder: StoredRevision,
  counts: Map<string, number>,
): Run {
  const service: Fields = typeof entry === 'string' ? { name: entry } : objectAt(entry, path)
  const name = textAt(service['name'], `${path}.name`)
  const { service_id: id, quantity } = service
  const order = (counts.get(name) ?? 0) + 1
  if (isUnset(id)) counts.set(name, order)
  const since = dateAt(holder['activation_date'], 'activation_date') ?? holder.from.getTime()
  const begin = Math.max(dateAt(service['from'], `${path}.from`) ?? since, since)
  const end = dateAt(service['to'], `${path}.to`) ?? FOREVER_MS
  const fromMs = Math.max(piece.fromMs, begin)
  const toMs = Math.min(piece.toMs, end)
  return {
    kind: 'service',
    name,
    serviceId: isUnset(id) ? (order === 1 ? undefined : `#${order}`) : String(id),
    quantity: isUnset(quantity) ? 1 : wholeAt(quantity, `${path}.quantity`, 1),
    activationMs: begin,
    fromMs,
    toMs,
    pieces: [{ ...piece, fromMs, toMs }],
  }
}

/** `own`, `foreign`: of one identity. No day is in two of its holdings, whatever the account. */
function holdingsOf(
  sid: number,
  own: readonly Run[],
  foreign: readonly Run[],
  endMs: number,
  zone: string,
): Holding[] {
  let free = Number.NEGATIVE_INFINITY
  const ordered = [...own, ...foreign].sort((one, other) => one.fromMs - other.fromMs)
  return ordered.flatMap((run) => {
    const fromDay = Math.max(dayOf(zone, run.fromMs), free)
    const toDay = dayAfter(zone, run.toMs)
    if (fromDay >= toDay) return []
    free = toDay
    return foreign.includes(run) ? [] : [holdingOf(sid, run, { fromDay, toDay }, endMs)]
  })
}

function holdingOf(
  sid: number,
  run: Run,
  days: Pick<Holding, 'fromDay' | 'toDay'>,
  endMs: number,
): Holding {
  const { serviceId, ...rest } = run
  return {
    sid,
    ...rest,
    ...days,
    ...(serviceId !== undefined && { serviceId }),
    isTermination: run.toMs >= endMs,
  }
}

/** The piece in force at an instant; the nearest one outside of the holding. */
export function pieceAt({ pieces }: Pick<Holding, 'pieces'>, atMs: number): Piece {
  return pieces.findLast(({ fromMs }) => fromMs <= atMs) ?? (pieces[0] as Piece)
}

/** The same holding, with an earlier end. */
export function endedAt(holding: Holding, endMs: number, zone: string): Holding | null {
  if (endMs >= holding.toMs) return holding
  if (endMs <= holding.fromMs) return null
  const toDay = dayAfter(zone, endMs)
  if (toDay <= holding.fromDay) return null
  return { ...holding, toMs: endMs, toDay, isTermination: false }
}
