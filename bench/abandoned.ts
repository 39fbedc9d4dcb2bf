/**
 * Abandoned sessions of disconnected network elements, written with the ledger's commit script:
 * opening this many over HTTP takes too long. Each session holds units; every tenth has used some
 * and has a line.
 */
import { bucketOrder, emptyOwner, type OwnerState, paysFor } from '../src/domain/bucket.ts'
import type { PrepaidInclude } from '../src/domain/catalogue.ts'
import { credit } from '../src/domain/credit.ts'
import { cycleAt } from '../src/domain/cycle.ts'
import { serviceIdentity } from '../src/domain/identity.ts'
import type { OperationLine } from '../src/domain/line.ts'
import { UNLIMITED } from '../src/domain/pricing/tier.ts'
import { emptyService } from '../src/domain/segment.ts'
import { plainPricing } from '../src/domain/segment-parts.ts'
import type { SegmentStart, Session } from '../src/domain/session.ts'
import { settle } from '../src/domain/settle.ts'
import { FOREVER_MS } from '../src/domain/time.ts'
import type { AccountCommit, SessionCommit } from '../src/ledger/commit-layout.ts'
import { sessionKeyOf } from '../src/ledger/keys.ts'
import { formatLocation, type Ledger } from '../src/ledger/ledger.ts'

export const MIB = 1024 * 1024
/** Micros per MiB in the demo catalogue. */
export const MIB_PRICE = 10_000
export const USED = MIB / 2
export const FIRST_ACCOUNT = 2_000_001
export const PER_ACCOUNT = 100
const USED_EVERY = 10
const ACCOUNTS_PER_COMMIT = 10
const CREDIT = 10_000_000

const include: PrepaidInclude = {
  id: '1',
  externalId: 1,
  name: 'MONEY',
  kind: 'totalCost',
  usaget: '',
  priority: 10,
  fromMs: 0,
  toMs: FOREVER_MS,
  shared: false,
  unlimited: false,
  allowedIn: null,
  moreUsagets: [],
}

export function sessionIdOf(index: number): string {
  return `abandoned-${index}`
}

/** The number of sessions with used units among the first `count` sessions of an account. */
export function usedOf(count: number): number {
  return Math.ceil(count / USED_EVERY)
}

export interface Abandoned {
  aid: number
  sid: number
  sessions: number
}

/** Opens sessions 0 to `count` - 1, `PER_ACCOUNT` in each account; returns the accounts. */
export async function openAbandoned(
  ledger: Ledger,
  count: number,
  nowMs: number,
  expiresMs: number,
): Promise<Abandoned[]> {
  const accounts: Abandoned[] = []
  let batch: AccountCommit[] = []
  let pattern = patternOf(Math.min(PER_ACCOUNT, count), nowMs, expiresMs)
  const flush = async () => {
    const replies = await ledger.commit(batch, nowMs)
    const refused = replies.find(({ kind }) => kind !== 'committed')
    if (refused !== undefined) throw new Error(`not opened: ${JSON.stringify(refused)}`)
    batch = []
  }
  for (let from = 0; from < count; from += PER_ACCOUNT) {
    const aid = FIRST_ACCOUNT + from / PER_ACCOUNT
    const sessions = Math.min(PER_ACCOUNT, count - from)
    if (pattern.sessions.length !== sessions) pattern = patternOf(sessions, nowMs, expiresMs)
    accounts.push({ aid, sid: aid, sessions })
    batch.push(accountOf(aid, from, pattern, nowMs))
    if (batch.length === ACCOUNTS_PER_COMMIT) await flush()
  }
  if (batch.length > 0) await flush()
  return accounts
}

/** One account with its sessions, which differ only in their names. */
function patternOf(count: number, nowMs: number, expiresMs: number) {
  const operation = { include, amount: CREDIT, fromMs: 0, toMs: FOREVER_MS, mode: 'inc' as const }
  let { owner } = credit(emptyOwner(0, 1), operation, nowMs)
  const sessions = Array.from({ length: count }, (_, index) => {
    const opened = openOne(owner, index % USED_EVERY === 0, nowMs, expiresMs)
    owner = opened.owner
    return opened.session
  })
  return { owner, sessions }
}

function accountOf(
  aid: number,
  from: number,
  { owner, sessions }: ReturnType<typeof patternOf>,
  nowMs: number,
): AccountCommit {
  const location = formatLocation({ aid, sid: aid })
  const opened = sessions.map((session, index): SessionCommit => {
    const sessionId = sessionIdOf(from + index)
    const { origin } = session.identity
    const identity = { aid, sid: aid, origin, sessionId }
    const sessionKey = sessionKeyOf(origin, sessionId)
    return { sessionKey, session: { ...session, identity }, before: null }
  })
  return {
    aid,
    owners: [{ state: { ...owner, aid, sid: aid, version: 1 }, fence: -1, sessions: opened }],
    shared: { expectedVersion: -1, state: null },
    // Usage reported after expiry is tested on the first account only.
    registrations:
      from > 0
        ? []
        : opened.map(({ sessionKey }) => ({
            sessionKey,
            location,
            expected: '',
            ttlMs: 3_600_000,
          })),
    operation: { result: creditLine(aid, nowMs) },
    lines: [],
    backoffHintMs: 0,
  }
}

function openOne(
  owner: OwnerState,
  hasUsed: boolean,
  nowMs: number,
  expiresMs: number,
): { owner: OwnerState; session: Session } {
  const tariff = {
    tiers: [{ units: UNLIMITED, interval: MIB, price: MIB_PRICE, ceil: true }],
    access: 0,
    extraDigits: 0,
    terms: null,
  }
  const { key: cycle, toMs: endMs } = cycleAt(nowMs, 'UTC', 1)
  const next: SegmentStart = {
    key: 'DATA',
    pricing: plainPricing({ rateKey: 'DATA', plan: 'DEMO_PREPAID', cycle, tariff }),
    hasGroups: false,
    fundingSources: [],
    isPrepaid: true,
    endMs,
  }
  const order = bucketOrder(owner, null, paysFor('data'), nowMs)
  const program = { exact: false, order, nextOrder: order, next, atMs: nowMs, end: 'none' as const }
  const names = serviceIdentity({ ratingGroup: 10, usaget: 'data' })
  const state = { subscriber: owner, account: null, service: emptyService(names) }
  const granted = settle(state, { ...program, used: 0, requested: 2 * MIB })
  const usage = { ...program, used: USED, requested: 2 * MIB }
  const { service, subscriber } = hasUsed ? settle(granted, usage) : granted
  const session: Session = {
    identity: { aid: 0, sid: 0, origin: 'http', sessionId: '' },
    state: 'open',
    openedMs: nowMs,
    client: null,
    expiresMs,
    lastNumber: 1,
    processed: 2,
    answered: [],
    services: [service],
  }
  return { owner: subscriber, session }
}

function creditLine(aid: number, nowMs: number): OperationLine {
  return {
    stamp: `op-${aid}`,
    aid,
    sid: aid,
    operationId: 'first credit',
    operation: 'inc',
    bucketId: 1,
    prepaidIncludeId: 1,
    kind: 'money',
    usaget: '',
    amount: CREDIT,
    before: 0,
    after: CREDIT,
    repaid: 0,
    atMs: nowMs,
    version: 1,
    priority: 0,
    fromMs: 0,
    toMs: FOREVER_MS,
  }
}
