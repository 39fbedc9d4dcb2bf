/** Handles due charges: asks for outcomes, repeats rejections, takes over from dead processes. */
import type { GatewayChargeDocument } from '../../catalog/records/money/payment-documents.ts'
import { hasEnded } from '../../runtime/process-identity.ts'
import { applyOrNull, askForCharge, type ChargeDeps, sendCharge } from './attempt.ts'
import { repeatCharge } from './run.ts'

/** A process that answers no sooner is taken for dead, even on another machine. */
const SENDING_MS_MAX = 5 * 60_000
const PAGE_SIZE = 100

/**
 * Handles everything that is due. Several processes may do so at once: each change is decided by
 * comparison. Calls `onStep` after each charge. Returns how many were handled.
 */
export async function handleDueCharges(
  deps: ChargeDeps,
  signal: AbortSignal,
  onStep: () => Promise<void> = async () => undefined,
): Promise<number> {
  const handled = new Set<string>()
  while (!signal.aborted) {
    const due = (await readDue(deps)).filter(({ _id }) => !handled.has(_id))
    if (due.length === 0) break
    for (const charge of due) {
      if (signal.aborted) break
      handled.add(charge._id)
      await handle(deps, charge)
      await onStep()
    }
  }
  return handled.size
}

/**
 * Makes the charges whose outcome is open due: they are asked for at the next pass. Of all accounts
 * if none is named. Returns their number.
 */
export async function askNow(
  { catalog, clock }: Pick<ChargeDeps, 'catalog' | 'clock'>,
  aids: readonly number[],
): Promise<number> {
  const open = { state: { $in: ['unknown', 'pending'] } } as const
  const filter = aids.length === 0 ? open : { ...open, aid: { $in: [...aids] } }
  const { matchedCount } = await catalog.gatewaycharges.updateMany(filter as object, {
    $set: { due: new Date(clock.nowMs()) },
    $inc: { rev: 1 },
  })
  return matchedCount
}

function readDue({ catalog, clock }: ChargeDeps): Promise<GatewayChargeDocument[]> {
  const now = new Date(clock.nowMs())
  return catalog.gatewaycharges
    .find({ due: { $gt: new Date(0), $lte: now } })
    .sort({ due: 1 })
    .limit(PAGE_SIZE)
    .toArray()
}

async function handle(deps: ChargeDeps, charge: GatewayChargeDocument): Promise<void> {
  switch (charge.state) {
    case 'created':
      await sendCharge(deps, charge)
      return
    case 'sent':
      await takeOver(deps, charge)
      return
    case 'pending':
    case 'unknown':
      await askForCharge(deps, charge)
      return
    case 'rejected':
      if ((await repeatCharge(deps, charge)) === null) {
        await applyOrNull(deps, charge, { type: 'repeated' })
      }
      return
    case 'completed':
      return
  }
}

/** The process that sent the request has died, or has had time enough for its answer. */
async function takeOver(deps: ChargeDeps, charge: GatewayChargeDocument): Promise<void> {
  const { holder, sent } = charge
  const ageMs = deps.clock.nowMs() - (sent?.getTime() ?? 0)
  const isDead = holder === null || hasEnded(holder)
  if (!isDead && ageMs < SENDING_MS_MAX) return
  const unknown = await applyOrNull(deps, charge, { type: 'unanswered' })
  const isDue = unknown?.due !== null && (unknown?.due?.getTime() ?? Infinity) <= deps.clock.nowMs()
  if (unknown !== null && isDue) await askForCharge(deps, unknown)
}
