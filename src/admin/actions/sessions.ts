/** `sessions`: open sessions with what they have reserved. */
import { Type } from '@sinclair/typebox'
import { subscriberAt } from '../../billing/customer-lookup.ts'
import { listOf } from '../../catalog/entities/json-schema.ts'
import type { Session } from '../../domain/session.ts'
import {
  FIRST_SESSION,
  openSessionsOf,
  type SessionPosition,
  stepOpenSessions,
} from '../../ledger/open-sessions.ts'
import { lastReportMs, sessionView } from '../../ledger/session-view.ts'
import { ActionError, parameterError } from '../../requests/errors.ts'
import { type ActionCall, action } from './action.ts'
import { param } from './parameters.ts'
import { OPEN_SESSION } from './session-schemas.ts'

const MINUTES_MAX = 366 * 24 * 60
const MINUTE_MS = 60_000
const SIZE = 100
const SIZE_MAX = 1_000
/** Steps through the index of a call that finds few sessions; each reads up to 500. */
const STEPS_MAX = 20
const EXAMPLE = {
  origin: 'diameter:pgw1/gy',
  session_id: 'pgw1;1795255200;7',
  aid: 17,
  sid: 171,
  opened: '2026-03-01T10:00:00.000Z',
  expires: '2026-03-01T11:00:00.000Z',
  last_report: '2026-03-01T10:20:00.000Z',
  request_num: 3,
  services: [
    {
      rating_group: 10,
      service_identifier: null,
      usaget: 'data',
      reserved: 1_048_576,
      reserved_money: 0.5,
      used: 2_097_152,
    },
  ],
}

export const sessions = action({
  name: 'sessions',
  level: 'read',
  about: 'List open sessions with their reservations',
  isReadByGet: true,
  parameters: Type.Object({
    aid: param.optional(param.integer('Only sessions of this account.', { minimum: 1 })),
    sid: param.optional(param.integer('Only sessions of this subscriber.', { minimum: 1 })),
    origin: param.optional(
      param.text('Only sessions of this origin, or of origins that begin with it and `/`.'),
    ),
    usaget: param.optional(param.text('Only sessions with a service of this usage type.')),
    opened_before: param.optional(param.date('Only sessions that were opened before.')),
    open_for: param.optional(
      param.integer('Only sessions that have been open for so many minutes.', {
        minimum: 1,
        maximum: MINUTES_MAX,
      }),
    ),
    size: param.optional(
      param.integer(`Sessions per page; ${SIZE} by default.`, { minimum: 1, maximum: SIZE_MAX }),
    ),
    after: param.optional(param.text('`next` of the previous page.')),
  }),
  answer: {
    details: listOf(
      OPEN_SESSION,
      'By partition of the ledger and expiry. A page may have fewer sessions than `size`.',
    ),
    next: {
      type: ['string', 'null'],
      description: '`after` of the next page; null for the last page.',
    },
  },
  example: { parameters: { aid: 17 }, answer: { details: [EXAMPLE], next: null } },
  async run({ aid, sid, origin, usaget, size = SIZE, after, ...opened }, call) {
    const { opened_before: before, open_for: minutes } = opened
    const endMs = Math.min(
      before?.getTime() ?? Number.POSITIVE_INFINITY,
      minutes === undefined ? Number.POSITIVE_INFINITY : call.nowMs - minutes * MINUTE_MS,
    )
    const isSelected = (session: Session) =>
      (sid === undefined || session.sid === sid) &&
      (origin === undefined || isOf(session.origin, origin)) &&
      (usaget === undefined || session.services.some((each) => each.usaget === usaget)) &&
      session.openedMs < endMs
    const from = after === undefined ? FIRST_SESSION : positionOf(after, call)
    const page =
      aid === undefined && sid === undefined
        ? await pageOfAll(call, { isSelected, size, from })
        : await pageOfAccount(call, { isSelected, size, from }, await accountOf(aid, sid, call))
    return { details: page.sessions.map(viewOf), next: page.next }
  },
})

interface SessionSelection {
  isSelected(session: Session): boolean
  readonly size: number
  readonly from: SessionPosition
}

interface Page {
  readonly sessions: readonly Session[]
  readonly next: string | null
}

async function pageOfAll(
  { ledger }: ActionCall,
  { isSelected, size, from }: SessionSelection,
): Promise<Page> {
  const sessions: Session[] = []
  let position = from
  for (let steps = 0; steps < STEPS_MAX; steps += 1) {
    const { found, next } = await stepOpenSessions(ledger, position)
    for (const { session, place } of found) {
      if (!isSelected(session)) continue
      sessions.push(session)
      if (sessions.length === size) return { sessions, next: positionText(place) }
    }
    if (next === null) return { sessions, next: null }
    position = next
  }
  return { sessions, next: positionText(position) }
}

/** The sessions of one account, by expiry and origin. */
async function pageOfAccount(
  { ledger }: ActionCall,
  { isSelected, size, from }: SessionSelection,
  { aid, sid }: { aid: number; sid: number },
): Promise<Page> {
  const placed: { place: SessionPosition; session: Session }[] = []
  const partition = ledger.keys.partitionOf(aid)
  for await (const { sessionKey: member, session } of openSessionsOf(ledger, { aid, sid })) {
    if (!isSelected(session)) continue
    placed.push({ place: { partition, score: session.expiresMs, member }, session })
  }
  placed.sort((a, b) => comparePlaces(a.place, b.place))
  const rest = placed.filter(({ place }) => comparePlaces(place, from) > 0)
  const visible = rest.slice(0, size)
  const last = visible.at(-1)
  const next = last === undefined || rest.length <= size ? null : positionText(last.place)
  return { sessions: visible.map(({ session }) => session), next }
}

function comparePlaces(a: SessionPosition, b: SessionPosition): number {
  if (a.score !== b.score) return a.score - b.score
  return a.member < b.member ? -1 : a.member > b.member ? 1 : 0
}

/** A subscriber without its account is looked up, as its sessions are kept with the account. */
async function accountOf(aid: number | undefined, sid: number | undefined, call: ActionCall) {
  if (aid !== undefined) return { aid, sid: sid ?? 0 }
  const subscriber = await subscriberAt(call, sid ?? 0, call.nowMs)
  if (subscriber === null)
    throw new ActionError(`there is no subscriber ${sid} now: give its aid`, { path: 'sid' })
  return { aid: subscriber.aid, sid: sid ?? 0 }
}

function isOf(origin: string, requested: string): boolean {
  return origin === requested || origin.startsWith(`${requested}/`)
}

function viewOf(session: Session) {
  const { services, ...head } = sessionView(session)
  const lastMs = lastReportMs(session)
  const lastReport = lastMs === null ? null : new Date(lastMs).toISOString()
  return { ...head, last_report: lastReport, services }
}

function positionText({ partition, score, member }: SessionPosition): string {
  return `${partition}.${score}.${member}`
}

const POSITION = /^(\d{1,5})\.(\d{1,16})\.([\w:-]{0,64})$/

function positionOf(text: string, { ledger }: ActionCall): SessionPosition {
  const [, partition, score, member = ''] = POSITION.exec(text) ?? []
  if (partition === undefined || Number(partition) >= ledger.keys.partitions) {
    throw parameterError('after', 'must be next of a page')
  }
  return { partition: Number(partition), score: Number(score), member }
}
