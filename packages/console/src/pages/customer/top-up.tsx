/** Loads credit. Its key lives until the outcome is known: until then it is one top-up. */
import { useEffect } from 'preact/hooks'
import { answerOf } from '../../api/client.ts'
import { Refusal } from '../../api/errors.ts'
import type { DecimalText } from '../../api/figures.ts'
import { useRead } from '../../api/read.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { amountIn, formatNumber, withCurrency } from '../../parts/numbers.ts'
import { invalidField, usePendingForm } from '../../parts/pending-form.ts'
import { ReadView } from '../../parts/state.tsx'
import { t } from '../../words/words.ts'
import { type Customer, type PrepaidInclude, readIncludes } from './data.ts'

/** `include`: `external_id` of the prepaid include; `expires`: a date, or empty. */
export const NO_TOP_UP = { include: '', value: '', expires: '', reason: '' }
type TopUpFields = typeof NO_TOP_UP

/** Name of a pending top-up. */
export function pendingTopUp({ aid, sid }: Customer): string {
  return `top-up.${aid}.${sid ?? 0}`
}

interface TopUpProps {
  readonly customer: Customer
  /** With a text of what was done, or null if nothing was. */
  readonly onClose: (done: string | null) => void
}

export function TopUp(props: TopUpProps) {
  const reading = useRead('prepaid includes', readIncludes)
  const { customer } = props
  const fitting = (includes: readonly PrepaidInclude[]) =>
    includes.filter(({ shared }) => shared || customer.sid !== null)
  return (
    <Dialog title={t('topUp.title')} onClose={() => props.onClose(null)}>
      <ReadView
        reading={reading}
        rows={8}
        isEmpty={(includes) => fitting(includes).length === 0}
        empty={t('topUp.noIncludes')}
      >
        {(includes) => <TopUpForm {...props} includes={fitting(includes)} />}
      </ReadView>
    </Dialog>
  )
}

interface FormProps extends TopUpProps {
  readonly includes: readonly PrepaidInclude[]
}

function TopUpForm({ customer, includes, onClose }: FormProps) {
  // The dialog is open before its form is there.
  useEffect(() => document.querySelector<HTMLInputElement>('dialog form input')?.focus(), [])
  const first = includes.find(({ charging_by: by }) => by === 'total_cost') ?? includes[0]
  const { form, isSent } = usePendingForm(pendingTopUp(customer), {
    empty: NO_TOP_UP,
    initial: { include: String(first?.external_id ?? '') },
    check({ value }) {
      if (amountIn(value) === null) throw invalidField('value', t('topUp.invalidValue'))
    },
    send: async (fields, key) => onClose(await send(customer, fields, { key, includes })),
  })
  const { include } = form.values.value
  const chosen = includes.find(({ external_id: id }) => String(id) === include)
  const locked = { readOnly: isSent }
  return (
    <Form form={form} save={isSent ? t('topUp.repeat') : t('topUp.save')}>
      {isSent && !form.isBusy.value && <p class="mark warn">▲ {t('topUp.unknownOutcome')}</p>}
      <Field
        label={t('topUp.value', { unit: unitOf(chosen) })}
        {...form.field('value')}
        hint={t('topUp.valueHint')}
        input={{ ...locked, required: true, inputMode: 'decimal' }}
      />
      <Field
        label={t('topUp.include')}
        value={include}
        onValue={(text) => !isSent && form.set('include', text)}
        error={form.errorAt('pp_includes_external_id')}
        choices={choicesOf(isSent && chosen !== undefined ? [chosen] : includes)}
      />
      <Field
        label={t('topUp.expires')}
        {...form.field('expires')}
        hint={t('topUp.expiresHint')}
        error={form.errorAt('expiration_date')}
        input={{ ...locked, type: 'date' }}
      />
      <Field
        label={t('topUp.reason')}
        {...form.field('reason')}
        input={{ ...locked, maxLength: 200 }}
      />
    </Form>
  )
}

function choicesOf(includes: readonly PrepaidInclude[]) {
  return includes.map(({ external_id: id, name }) => ({ value: String(id), label: name }))
}

function unitOf(include: PrepaidInclude | undefined): string {
  if (include === undefined) return ''
  return include.charging_by === 'usagev' ? include.charging_by_usaget : t('topUp.money')
}

interface SentTopUp {
  readonly key: string
  readonly includes: readonly PrepaidInclude[]
}

/** Credit is negative in the API. */
async function send({ aid, sid }: Customer, fields: TopUpFields, { key, includes }: SentTopUp) {
  const { include, expires, reason } = fields
  const value = amountIn(fields.value) ?? ''
  const chosen = includes.find(({ external_id: id }) => String(id) === include)
  const owner = chosen?.shared === true || sid === null ? { aid } : { sid }
  const query = {
    ...owner,
    pp_includes_external_id: Number(include),
    ...(expires !== '' && { expiration_date: expires }),
  }
  const body = {
    query,
    update: { value: `-${value}` as DecimalText },
    ...(reason !== '' && { additional: { reason } }),
  }
  const options = { idempotencyKey: key }
  const answer = await answerOf('billapi/balances/update', body, options)
  if ((answer as { details?: unknown }).details === false) {
    throw new Refusal('refused', 0, t('topUp.beyondLimit'))
  }
  const name = chosen?.name ?? include
  const added = formatNumber(value as DecimalText)
  const isUnits = chosen?.charging_by === 'usagev'
  return t('topUp.done', { value: isUnits ? added : withCurrency(added), name })
}
