/** Records a payment. Its key lives until the outcome is known: until then it is one payment. */
import { useEffect } from 'preact/hooks'
import type { DecimalText } from '../../api/figures.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { amountIn, moneyHeader, moneyText } from '../../parts/numbers.ts'
import { invalidField, usePendingForm } from '../../parts/pending-form.ts'
import type { WordKey } from '../../words/en.ts'
import { t } from '../../words/words.ts'
import { hasBank, METHODS, NO_PAYMENT, type PaymentFields, pay } from './data.ts'

/** Name of the payment that is pending in this tab. */
export const PENDING = 'payment'

interface PayProps {
  /** Account of the page; empty for none. */
  readonly aid: string
  /** With a text of what was done, or null if nothing was. */
  readonly onClose: (done: string | null) => void
}

export function Pay({ aid, onClose }: PayProps) {
  const { form, isSent } = usePendingForm<PaymentFields>(PENDING, {
    empty: NO_PAYMENT,
    initial: { aid },
    check(fields) {
      if (!/^[1-9]\d*$/.test(fields.aid.trim())) throw invalidField('aid', t('payment.invalidAid'))
      if (amountIn(fields.amount) === null) {
        throw invalidField('amount', t('payment.invalidAmount'))
      }
    },
    async send(fields, key) {
      await pay(fields, key)
      const amount = moneyText((amountIn(fields.amount) ?? '0') as DecimalText)
      onClose(t('payment.done', { amount, aid: fields.aid.trim() }))
    },
  })
  // The account is known on most pages: the amount is typed first then.
  useEffect(() => {
    const inputs = document.querySelectorAll<HTMLInputElement>('dialog form input')
    inputs[aid === '' ? 0 : 1]?.focus()
  }, [])
  const values = form.values.value
  const text = (name: keyof PaymentFields, more: object = {}) => ({
    label: t(`payment.${name}`),
    ...form.field(name),
    input: { readOnly: isSent, maxLength: 200, autocomplete: 'off', ...more } as const,
  })
  const choice = (
    name: 'dir' | 'method',
    choices: readonly { value: string; label: string }[],
  ) => ({
    ...text(name),
    choices: isSent ? choices.filter(({ value }) => value === values[name]) : choices,
  })
  return (
    <Dialog title={t('payment.open')} onClose={() => onClose(null)}>
      <Form form={form} save={t(isSent ? 'payment.repeat' : 'payment.save')}>
        {isSent && !form.isBusy.value && <p class="mark warn">▲ {t('payment.unknownOutcome')}</p>}
        <Field {...text('aid', { required: true, inputMode: 'numeric' })} />
        <Field
          {...text('amount', { required: true, inputMode: 'decimal' })}
          label={moneyHeader(t('payment.amount'))}
        />
        <Field
          {...choice('dir', directions())}
          onValue={(dir) => {
            form.set('dir', dir)
            form.set('method', 'cash')
          }}
        />
        <Field {...choice('method', methodsOf(values.dir))} />
        {values.dir === 'fc' && (
          <Field {...text('invoice', { inputMode: 'numeric' })} hint={t('payment.invoiceHint')} />
        )}
        {hasBank(values.method) && (
          <>
            <Field {...text('payer')} />
            <Field {...text('bank')} />
          </>
        )}
        <Field {...text('reason')} hint={t('payment.reasonHint')} />
      </Form>
    </Dialog>
  )
}

function directions() {
  return (['fc', 'tc'] as const).map((value) => ({ value, label: t(`payments.${value}`) }))
}

function methodsOf(dir: string) {
  return METHODS[dir === 'tc' ? 'tc' : 'fc'].map((value) => {
    return { value, label: t(`payment.by.${value}` as WordKey) }
  })
}
