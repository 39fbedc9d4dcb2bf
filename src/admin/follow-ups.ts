/**
 * The outbox entries of changes of entities, which act on the ledger. Their operation ids ensure
 * that each is executed once.
 */
import { preponeInstallments } from '../billing/credit/prepone.ts'
import { FENCE_KIND, type ProfileOwner } from '../catalog/revisions/entity-changes.ts'
import type { OutboxHandler } from '../catalog/transactions/dispatcher.ts'
import type { OperationLine } from '../domain/line.ts'
import type { EarlyPayment, TransferRequest } from '../entities/follow-ups.ts'
import { type Renewal, renew } from '../prepaid/autorenew/renewal.ts'
import type { BalanceDeps } from '../prepaid/balances/loads.ts'
import {
  type OperationAudit,
  recordFromLedger,
  recordOperations,
} from '../prepaid/balances/operation-audit.ts'
import { planTransfer, runTransfer, type TransferPlan } from '../prepaid/balances/transfer.ts'
import { type CardLoad, completeRedemption } from '../prepaid/cards/redeem.ts'
import type { Logger } from '../runtime/log.ts'

/** The correction of an account by `tollgate audit --mend`, with the lines that it writes. */
export interface MendAudit extends Pick<OperationAudit, 'actor' | 'type'> {
  aid: number
  operationId: string
  lines: readonly OperationLine[]
}

/** A transfer of balances; without buckets until it is planned. */
type Transfer = TransferRequest & { buckets: TransferPlan['buckets'] | null }

type Deps = BalanceDeps & { log: Pick<Logger, 'warn'> }

export function followUpHandlers(deps: Deps): Readonly<Record<string, OutboxHandler>> {
  const { ledger, clock } = deps
  return {
    async [FENCE_KIND]({ aid, sid }: ProfileOwner) {
      await ledger.raiseFence(aid, sid, false, clock.nowMs())
    },
    transfer: (payload: Transfer, save) => transfer(deps, payload, save),
    renewal: (payload: Renewal) => renew(deps, payload),
    card: (payload: CardLoad) => completeRedemption(deps, payload),
    balances: (payload: OperationAudit) => recordFromLedger(deps, payload),
    mend: (payload: MendAudit) => recordMend(deps, payload),
    prepone: (payload: EarlyPayment) => payEarly(deps, payload),
  }
}

/**
 * The plan is stored before it is executed: a repetition must not transfer what was added since.
 */
async function transfer(
  { ledger, clock, config }: Deps,
  { buckets, ...request }: Transfer,
  save: (payload: Transfer) => Promise<void>,
): Promise<void> {
  const plan = buckets === null ? await planTransfer(ledger, request) : { ...request, buckets }
  if (buckets === null) await save(plan)
  const settings = { attemptsMax: config.ledger.commitAttemptsMax }
  await runTransfer(ledger, plan, settings, clock.nowMs())
}

async function payEarly(deps: Deps, { actor, aid, sid }: EarlyPayment): Promise<void> {
  const { catalog, config, clock } = deps
  const stores = { catalog, config, actor, nowMs: clock.nowMs() }
  await catalog.transaction('prepone installments', (session) =>
    preponeInstallments(stores, session, { aid, sid, reason: 'the subscriber was closed' }),
  )
}

async function recordMend({ catalog, ledger }: Deps, mend: MendAudit): Promise<void> {
  const { aid, operationId, lines } = mend
  if ((await ledger.findOperation(aid, operationId)) === null) return
  await recordOperations(catalog, mend, lines)
}
