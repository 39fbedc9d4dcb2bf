/** `onetimeinvoice`: an invoice outside of cycles, from a list of charges; or a credit note. */
import { activeCardOf } from '../../billing/cards/active-card.ts'
import { chargeAccount } from '../../billing/charges/run.ts'
import { withCurrentCycle } from '../../billing/credit/insert-credits.ts'
import { type OneTimeOrder, previewOneTime, storeOneTime } from '../../billing/onetime/one-time.ts'
import { withdrawInvoice } from '../../billing/onetime/withdraw.ts'
import { writeFiles } from '../../billing/run/invoice-files.ts'
import { sendMails } from '../../billing/run/invoice-mail.ts'
import { closed, integer, ref, text } from '../../catalog/entities/json-schema.ts'
import type { GatewayChargeDocument } from '../../catalog/records/money/payment-documents.ts'
import type { OutboxDocument } from '../../catalog/records/outbox-document.ts'
import { booleanOf } from '../../requests/cast-value.ts'
import { ActionError, fieldRule } from '../../requests/errors.ts'
import type { RawParameters } from '../../requests/raw-parameters.ts'
import {
  type ActionAnswer,
  type ActionCall,
  type AnswerFile,
  type AnswerOf,
  type CommitPart,
  DONE_OR_FAILED,
  type MoneyCall,
  moneyAction,
} from './action.ts'
import { cycleOf } from './billrun/cycle-of.ts'
import { writerOf } from './books.ts'
import { STAGE_MEMBERS, stageOf } from './charge-view.ts'
import { invoiceView } from './invoice-view.ts'
import { ONE_TIME_PARAMETERS, type OneTimeParameters, oneTimeOrderOf } from './onetime-order.ts'
import { param } from './parameters.ts'

const ANSWER = {
  status: DONE_OR_FAILED,
  message: param.optional(text('The text in `desc`, if the charge failed.')),
  details: param.optional(
    closed('The invoice.', {
      invoice_path: text('Path of the PDF; empty if it is made when it is downloaded.'),
      invoice_id: integer('Number of the invoice; 0 if it is only computed.'),
      paymentData: closed('The charge; no member if there is none.', STAGE_MEMBERS, [
        'status',
        'stage',
        'additional_params',
      ]),
      invoice: ref<object>('invoices.shown'),
    }),
  ),
} as const

type OneTimeAnswer = AnswerOf<typeof ANSWER>

export const onetimeinvoice = moneyAction({
  name: 'onetimeinvoice',
  level: 'write',
  about: 'Make an invoice outside of cycles, or a credit note',
  parameters: ONE_TIME_PARAMETERS,
  answer: ANSWER,
  example: {
    parameters: {
      aid: 1,
      step: 1,
      reason: 'Installation',
      cdrs: [{ aid: 1, sid: 2, rate: 'FEE_A', credit_time: '2026-06-01', usagev: 1, aprice: 20 }],
    },
    answer: {
      details: {
        invoice_path: '',
        invoice_id: 8_100_000_001,
        paymentData: {},
        invoice: { aid: 1, billrun_key: '20260601090000', invoice_id: 8_100_000_001, billed: 1 },
      },
    },
  },
  files: ['application/pdf'],
  fileOf: pdfOf,
  async run(parameters, call) {
    refuseCombination(parameters)
    const { step = 2, expected = false, charge_flow: flow = 'regular' } = parameters
    const order = await withCurrentCycle(() => oneTimeOrderOf(parameters, call))
    if (expected) {
      const invoice = await previewOneTime(call, order)
      return answerOf({ ...invoice, invoice_id: 0 }, {}, call, parameters)
    }
    if (step < 2 || !order.isBilled) return storeOnly(call, parameters)
    return storeAndCharge(call, parameters, flow === 'charge_before_invoice')
  },
})

function refuseCombination(parameters: OneTimeParameters): void {
  const { step = 2, expected = false, charge_flow: flow = 'regular', adjusts = '' } = parameters
  if (expected && step !== 0)
    throw new ActionError('Expected must to be with step 0 only', { path: 'expected' })
  if (adjusts !== '' && step === 0) throw fieldRule('adjusts', 'requires step 1 or 2')
  if (flow === 'charge_before_invoice' && step !== 2) {
    throw fieldRule('charge_flow', 'charge_before_invoice requires step 2')
  }
}

type Stored = OneTimeInvoice & Record<string, unknown>

interface OneTimeInvoice {
  readonly aid: number
  readonly billrun_key: string
  readonly invoice_id: number
}

function answerOf(
  invoice: object,
  paymentData: Partial<ReturnType<typeof stageOf>>,
  call: MoneyCall,
  parameters: OneTimeParameters,
): OneTimeAnswer {
  const { invoice_id } = invoice as OneTimeInvoice
  const details = { invoice_path: pathOf(invoice as OneTimeInvoice, call, parameters), invoice_id }
  return { details: { ...details, paymentData, invoice: invoiceView(invoice, call) } }
}

/** The path of the PDF if it is written now; empty if it is made when it is downloaded. */
function pathOf(
  { aid, billrun_key: billrunKey, invoice_id: invoiceId }: OneTimeInvoice,
  call: MoneyCall,
  { send_back_invoices: isSentBack = false }: OneTimeParameters,
): string {
  const { config, documents } = cycleOf(call)
  const { files, formats } = config.invoices
  const isWritten = files === 'at_confirmation' && formats.includes('pdf')
  if (invoiceId === 0 || !(isWritten || isSentBack)) return ''
  return documents.pathOf({ aid, billrunKey, invoiceId })
}

/** The PDF, also for a repeated call. The answer is JSON if it cannot be made. */
async function pdfOf(
  raw: RawParameters,
  { status, details }: ActionAnswer,
  call: ActionCall,
): Promise<AnswerFile | null> {
  const id = (details as Partial<OneTimeInvoice> | undefined)?.invoice_id ?? 0
  if (booleanOf(raw.get('send_back_invoices')) !== true || status !== 1 || id === 0) return null
  const { catalog, documents, log } = cycleOf(call)
  try {
    const found = await catalog.billrun.findOne({ invoice_id: id })
    if (found === null) return null
    return await documents.documentOf(found, 'pdf')
  } catch (error) {
    log.warn({ err: error, invoice: id }, 'the PDF of a one-time invoice cannot be made')
    return null
  }
}

async function storeOnly(call: MoneyCall, parameters: OneTimeParameters): Promise<OneTimeAnswer> {
  let mails: readonly OutboxDocument[] = []
  let invoices: readonly OneTimeInvoice[] = []
  const answer = await withCurrentCycle(async () => {
    const order = await oneTimeOrderOf(parameters, call)
    return call.commit('write a one-time invoice', async (session) => {
      const stored = await storeOneTime(call, session, order)
      mails = stored.mails
      invoices = [stored.invoice]
      return answerOf(stored.invoice, {}, call, parameters)
    })
  })
  await writeFiles(cycleOf(call), invoices)
  await sendMails(cycleOf(call), mails)
  return answer
}

/** A repetition of the call continues with what the first one has stored. */
async function storeAndCharge(
  call: MoneyCall,
  parameters: OneTimeParameters,
  isChargedFirst: boolean,
): Promise<OneTimeAnswer> {
  const { charges: deps } = call.payments
  const first = await oneTimeOrderOf(parameters, call)
  if (isChargedFirst) await refuseWithoutCard(call, first)
  let mails: readonly OutboxDocument[] = []
  const [stored] = await call.commitPart(0, (commit) =>
    withCurrentCycle(async () => {
      const order = await oneTimeOrderOf(parameters, call)
      return commit('write a one-time invoice', async (session) => {
        // Without the charge there is no invoice to send.
        const one = await storeOneTime(call, session, {
          ...order,
          sendsEmail: order.sendsEmail && !isChargedFirst,
        })
        mails = one.mails
        return [one.invoice]
      })
    }),
  )
  const invoice = stored as Stored
  if (!isChargedFirst) await writeFiles(cycleOf(call), [invoice])
  await sendMails(cycleOf(call), mails)
  const charge = await chargeOne(call, deps, invoice)
  if (isChargedFirst && charge?.state === 'rejected')
    return withdraw(call, invoice, parameters.reason)
  if (isChargedFirst) await writeFiles(cycleOf(call), [invoice])
  const paymentData = charge === null ? {} : stageOf(charge)
  return call.commit('answer a one-time invoice', async () =>
    answerOf(invoice, paymentData, call, parameters),
  )
}

async function refuseWithoutCard(call: MoneyCall, { aid }: OneTimeOrder): Promise<void> {
  const { charges } = call.payments
  const card = await activeCardOf(charges, aid, call.nowMs)
  if (card === null) throw new ActionError('No payment method for account', 'refused')
}

/** Null if there is nothing to charge: a refund, or an account without a card. */
async function chargeOne(
  call: MoneyCall,
  deps: Parameters<typeof chargeAccount>[0],
  { aid, invoice_id: id }: OneTimeInvoice,
): Promise<GatewayChargeDocument | null> {
  const { actor } = call
  const order = {
    aid,
    selection: { invoices: [id] },
    payMode: 'one_payment',
    isNamed: true,
    run: '',
    actor,
    reason: `invoice ${id}`,
  } as const
  const { charges } = await chargeAccount(deps, order, async (write) => {
    const part = (commit: CommitPart) => commit('create charges', write)
    return (await call.commitPart(1, part)) as readonly string[]
  })
  return charges[0] ?? null
}

const NOT_CHARGED = 'Charge failed before invoicing'

async function withdraw(
  call: MoneyCall,
  invoice: OneTimeInvoice,
  reason: string | undefined,
): Promise<OneTimeAnswer> {
  return call.commit('withdraw a one-time invoice', async (session) => {
    await withdrawInvoice(writerOf(call, session, reason), invoice, NOT_CHARGED)
    return { status: 0, desc: NOT_CHARGED, message: NOT_CHARGED }
  })
}
