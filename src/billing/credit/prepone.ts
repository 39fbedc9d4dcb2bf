/** Early payment: the later installments of a subscriber become due in the current cycle. */
import { appendAudit } from '../../catalog/audit/audit.ts'
import type { ClientSession } from '../../catalog/collections.ts'
import type { CreditLineDocument } from '../../catalog/records/usage/credit-line.ts'
import type { Config } from '../../config/schema.ts'
import { activeKey, keyEndMs } from '../cycle/cycle-key.ts'
import { readLastKeys } from './credit-data.ts'
import { calendarOf } from './credits.ts'
import type { AuditedStores } from './insert-credits.ts'

export interface PreponeStores extends AuditedStores {
  readonly config: Pick<Config, 'rating' | 'billing'>
}

/** Moves the installments; returns how many. A repetition finds none. */
export async function preponeInstallments(
  { catalog, actor, nowMs, config }: PreponeStores,
  session: ClientSession,
  { aid, sid, reason }: { aid: number; sid: number; reason: string | null },
): Promise<number> {
  const calendar = calendarOf(config)
  const lastKeys = await readLastKeys(catalog, [aid])
  const current = activeKey(lastKeys(aid), nowMs, config.billing.lateCycleDays, calendar)
  const filter = {
    aid,
    sid,
    type: 'credit',
    usaget: 'charge',
    installment_no: { $gt: 1 },
    billrun: { $gt: current, $regex: /^\d{6}$/ },
    urt: { $gte: new Date(keyEndMs(current, calendar)) },
  }
  const found = (await catalog.lines
    .find(filter as object, { projection: { stamp: 1, billrun: 1 } })
    .sort({ billrun: 1 })
    .toArray()) as Pick<CreditLineDocument, 'stamp' | 'billrun'>[]
  if (found.length === 0) return 0
  const stamps = found.map(({ stamp }) => stamp)
  await catalog.lines.updateMany(
    { stamp: { $in: stamps } },
    { $set: { billrun: current, preponed: new Date(nowMs) } } as object,
    { session },
  )
  const former = Object.fromEntries(found.map(({ stamp, billrun }) => [stamp, billrun]))
  appendAudit(session, actor, nowMs, {
    collection: 'lines',
    type: 'prepone',
    key: `subscribers/${sid}`,
    old: { aid, sid, billrun: former },
    new: { aid, sid, billrun: current, ...(reason !== null && { reason }) },
  })
  return found.length
}
