/** Loads credit. Its key lives until the outcome is known: what happens in between is one top-up. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { answerOf } from '../../api/client.ts'
import { Refusal } from '../../api/errors.ts'
import type { DecimalText } from '../../api/figures.ts'
import { newKey } from '../../api/idempotency.ts'
import { useRead } from '../../api/read.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { Form, useForm } from '../../parts/form.tsx'
import { formatNumber } from '../../parts/numbers.ts'
import { ReadView } from '../../parts/state.tsx'
import { t } from '../../words/words.ts'
import { type Customer, type PrepaidInclude, readIncludes } from './data.ts'
import { amountIn, forgetTopUp, keepTopUp, openTopUp, type TopUpFields } from './pending-top-up.ts'
import { tabStorage } from './tab-storage.ts'

/** Whose pending top-up it is. */
export function ownerName({ aid, sid }: Customer): string {
  return `${aid}.${sid ?? 0}`
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
  const kept = tabStorage()
  const owner = ownerName(customer)
  const opened = useMemo(() => openTopUp(kept, owner, newKey), [])
  // The dialog is open before its form is there.
  useEffect(() => document.querySelector<HTMLInputElement>('dialog form input')?.focus(), [])
  const [pending, setPending] = useState(opened)
  const first = includes.find(({ charging_by: by }) => by === 'total_cost') ?? includes[0]
  const initial = {
    ...opened.fields,
    include: opened.fields.include || String(first?.external_id ?? ''),
  }
  const form = useForm<TopUpFields>(initial, async (fields) => {
    const value = amountIn(fields.value)
    if (value === null) throw invalidAmount()
    const sent = { key: pending.key, fields, isSent: true }
    keepTopUp(kept, owner, sent)
    setPending(sent)
    try {
      const done = await send(customer, { ...fields, value }, { key: sent.key, includes })
      forgetTopUp(kept, owner)
      onClose(done)
    } catch (error) {
      if (isOutcomeUnknown(error)) throw error
      // Nothing was done: the next try is another top-up.
      forgetTopUp(kept, owner)
      setPending({ ...sent, key: newKey(), isSent: false })
      throw error
    }
  })
  const { include, value, expires, reason } = form.values.value
  const chosen = includes.find(({ external_id: id }) => String(id) === include)
  const locked = { readOnly: pending.isSent }
  return (
    <Form form={form} save={pending.isSent ? t('topUp.repeat') : t('topUp.save')}>
      {pending.isSent && !form.isBusy.value && (
        <p class="mark warn">▲ {t('topUp.unknownOutcome')}</p>
      )}
      <Field
        label={t('topUp.value', { unit: unitOf(chosen) })}
        value={value}
        onValue={(text) => form.set('value', text)}
        hint={t('topUp.valueHint')}
        error={form.errorAt('value')}
        input={{ ...locked, required: true, inputMode: 'decimal' }}
      />
      <Field
        label={t('topUp.include')}
        value={include}
        onValue={(text) => !pending.isSent && form.set('include', text)}
        error={form.errorAt('pp_includes_external_id')}
        choices={includes
          .filter(({ external_id: id }) => !pending.isSent || String(id) === include)
          .map(({ external_id: id, name }) => ({ value: String(id), label: name }))}
      />
      <Field
        label={t('topUp.expires')}
        value={expires}
        onValue={(text) => form.set('expires', text)}
        hint={t('topUp.expiresHint')}
        error={form.errorAt('expiration_date')}
        input={{ ...locked, type: 'date' }}
      />
      <Field
        label={t('topUp.reason')}
        value={reason}
        onValue={(text) => form.set('reason', text)}
        input={{ ...locked, maxLength: 200 }}
      />
    </Form>
  )
}

function unitOf(include: PrepaidInclude | undefined): string {
  if (include === undefined) return ''
  return include.charging_by === 'usagev' ? include.charging_by_usaget : t('topUp.money')
}

interface Sent {
  readonly key: string
  readonly includes: readonly PrepaidInclude[]
}

/** Credit is negative in the API. */
async function send({ aid, sid }: Customer, fields: TopUpFields, { key, includes }: Sent) {
  const { include, value, expires, reason } = fields
  const chosen = includes.find(({ external_id: id }) => String(id) === include)
  const owner = chosen?.shared === true ? { aid } : { sid }
  const until = expires === '' ? {} : { expiration_date: expires }
  const body = {
    query: { ...owner, pp_includes_external_id: Number(include), ...until },
    update: { value: `-${value}` },
    ...(reason !== '' && { additional: { reason } }),
  }
  const options = { idempotencyKey: key }
  const answer = await answerOf('billapi/balances/update', body as never, options)
  if ((answer as { details?: unknown }).details === false) {
    throw new Refusal('refused', 0, t('topUp.beyondLimit'))
  }
  const name = chosen?.name ?? include
  return t('topUp.done', { value: formatNumber(value as DecimalText), name })
}

function isOutcomeUnknown(error: unknown): boolean {
  if (!(error instanceof Refusal)) return true
  return error.kind === 'offline' || error.kind === 'unavailable' || error.kind === 'login'
}

function invalidAmount(): Refusal {
  const fields = [{ path: 'update.value', reason: t('topUp.invalidValue') }]
  return new Refusal('fields', 0, t('topUp.invalidValue'), { fields })
}
