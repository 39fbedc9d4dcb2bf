/**
 * Explains which sessions and lines cause an account's differences, and what a mend would change.
 */
import type { MoneyFormat } from '../../billing/currency.ts'
import type { BalanceLineDocument } from '../../catalog/records/usage/documents.ts'
import {
  amountsOfPayment,
  type RealtimeLineDocument,
} from '../../catalog/records/usage/line-document.ts'
import { decimalText } from '../../domain/money.ts'
import { amountText } from '../owners.ts'
import type { AccountEvidence, LaterLine, SegmentLine } from './evidence.ts'
import type { AccountPlan, BucketPlan, OwnerPlan } from './mend-plan.ts'

export interface DifferenceCause {
  aid: number
  /** Lines of text; each names its subject before a colon. */
  causes: string[]
  /** Changes that a mend would make; empty if nothing can be settled automatically. */
  mends: string[]
  /** Differences that need a manual correction. */
  unsettled: string[]
}

export function explain(
  evidence: AccountEvidence,
  plan: AccountPlan,
  money: MoneyFormat,
): DifferenceCause {
  const { aid, different, later, lost } = evidence
  return {
    aid,
    causes: [
      ...different.map((line) => differentText(line, money)),
      ...later.map((line) => laterText(line, money)),
      ...unknownLines(evidence, plan).map((line) => unknownText(line, money)),
      ...lost.map(lostText),
      ...plan.owners.flatMap(versionTexts),
      ...plan.owners.flatMap(remainders(evidence, money)),
    ],
    mends: plan.owners.flatMap((owner) => mendTexts(owner, money)),
    unsettled: plan.unsettled,
  }
}

export function explanationLines({ aid, causes, mends, unsettled }: DifferenceCause): string[] {
  const indent = (texts: readonly string[]) => texts.map((text) => `  ${text}`)
  return [
    `account ${aid}:`,
    ...indent(causes),
    ...indent(mends.map((text) => `mend: ${text}`)),
    ...indent(unsettled.map((text) => `not mended: ${text}`)),
  ]
}

function differentText({ ledgerLine, recorded }: SegmentLine, money: MoneyFormat): string {
  const { stamp, version, session, counts } = ledgerLine
  const { sessionId, sid } = session
  const { used, charged } = counts
  const where = `session ${sessionId} of subscriber ${sid}, line ${stamp}`
  const has = `the ledger has version ${version} with ${usageText(used, charged, money)}`
  if (recorded === null) return `${where}: not on record; ${has}`
  const { v, usagev, aprice_micros } = recorded
  return `${where}: version ${v} on record has ${usageText(usagev, aprice_micros, money)}; ${has}`
}

function usageText(units: number, micros: number, money: MoneyFormat): string {
  return `${units} units for ${money(decimalText(micros))}`
}

function laterText({ recorded }: LaterLine, money: MoneyFormat): string {
  const { session_id, sid, stamp, v, usagev, aprice_micros } = recorded
  return (
    `session ${session_id} of subscriber ${sid}, line ${stamp}: version ${v} on record has ` +
    `${usageText(usagev, aprice_micros, money)}; the ledger has nothing of it`
  )
}

function unknownText(
  { session_id, sid, stamp, usagev, aprice_micros }: RealtimeLineDocument,
  money: MoneyFormat,
) {
  const what = usageText(usagev, aprice_micros, money)
  return (
    `session ${session_id} of subscriber ${sid}, line ${stamp}: ${what} on record; ` +
    'the ledger does not know the session'
  )
}

function lostText({ operation_id, operation, sid, bucket_id, urt }: BalanceLineDocument): string {
  return (
    `operation ${operation_id} (${operation}) of ${urt.toISOString()} on bucket ${bucket_id} of ` +
    `${ownerText(sid)}: on record; the ledger does not know it`
  )
}

/** The newest lines of unknown sessions that together make up what the ledger lacks. */
function unknownLines(
  { unknown, later }: AccountEvidence,
  { owners }: AccountPlan,
): RealtimeLineDocument[] {
  const missing = new Map<string, number>()
  for (const { owner, buckets } of owners) {
    for (const { before, after, mended } of buckets) {
      // The correction covers amounts that no line has; they need no explanation here.
      const lacking = after.spent - before.spent - Math.max(0, mended.spent) + mended.owed
      if (lacking > 0) missing.set(`${owner.sid}/${before.id}`, lacking)
    }
  }
  const explains = ({ sid, payments }: RealtimeLineDocument) => {
    let isNeeded = false
    for (const payment of payments) {
      const key = `${payment.owner === 'account' ? 0 : sid}/${payment.bucket_id}`
      const left = missing.get(key) ?? 0
      if (left <= 0) continue
      isNeeded = true
      missing.set(key, left - amountsOfPayment(payment).spent)
    }
    return isNeeded
  }
  for (const { recorded } of later) explains(recorded)
  return unknown.filter(explains)
}

/** The recorded balance may have a version that the ledger has lost. */
function versionTexts({ owner, after }: OwnerPlan): string[] {
  if (after.version === owner.version + 1) return []
  const recorded = after.version - 1
  const { sid, version } = owner
  return [`${ownerText(sid)}: version ${recorded} on record; the ledger has version ${version}`]
}

/** Differences that none of the listed lines and operations explains. */
function remainders({ different, later, unknown, lost }: AccountEvidence, money: MoneyFormat) {
  return ({ owner, buckets }: OwnerPlan): string[] =>
    buckets.flatMap(({ before, spentAhead, creditedAhead }) => {
      const bucketLabel = `bucket ${before.id} of ${ownerText(owner.sid)}`
      const format = (amount: number) => amountText(before.kind, Math.abs(amount), money)
      const hasSpent = different.length + later.length + unknown.length > 0
      const isExplained = spentAhead > 0 && hasSpent
      return [
        ...(spentAhead < 0 || (spentAhead > 0 && !isExplained)
          ? [`${bucketLabel}: ${format(spentAhead)} spent ${sideOf(spentAhead)}`]
          : []),
        ...(creditedAhead !== 0 && (creditedAhead < 0 || lost.length === 0)
          ? [`${bucketLabel}: ${format(creditedAhead)} credited ${sideOf(creditedAhead)}`]
          : []),
      ]
    })
}

function sideOf(ahead: number): string {
  return ahead < 0 ? 'in the ledger, and not on record' : 'on record, and not in the ledger'
}

function mendTexts(plan: OwnerPlan, money: MoneyFormat): string[] {
  const { owner, buckets, debt, sessions, after } = plan
  const who = ownerText(owner.sid)
  const records = sessions.map(
    ({ session }) =>
      `records the lines of session ${session.identity.sessionId} as the ledger has them`,
  )
  const owed = after.owed - owner.owed
  const texts = [
    ...buckets.map((bucket) => bucketText(who, bucket, money)),
    ...(owed > 0 ? [`${who}: debt ${money(decimalText(owed))} more`] : []),
    ...(debt.repaid > 0 ? [`${who}: debt of ${money(decimalText(debt.repaid))} repaid`] : []),
    ...records,
  ]
  return texts.length > 0 ? texts : [`records the balances of ${who} as the ledger has them`]
}

function bucketText(
  who: string,
  { before, after, unpaid }: BucketPlan,
  money: MoneyFormat,
): string {
  const { id, kind } = before
  const format = (amount: number) => amountText(kind, amount, money)
  const change = (name: 'credited' | 'spent' | 'free') =>
    before[name] === after[name]
      ? []
      : [`${name} ${format(before[name])} -> ${format(after[name])}`]
  const changes = [...change('credited'), ...change('spent'), ...change('free')]
  const lacking = kind === 'units' ? 'written off' : 'owed'
  const rest = unpaid > 0 ? `; ${format(unpaid)} beyond the credit are ${lacking}` : ''
  const what = changes.length > 0 ? changes.join(', ') : 'gets a line for what is not recorded'
  return `bucket ${id} of ${who}: ${what}${rest}`
}

function ownerText(sid: number): string {
  return sid === 0 ? 'the account' : `subscriber ${sid}`
}
