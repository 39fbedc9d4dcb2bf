/** Cancels, rejects, denies or confirms a payment, with a reason. */
import { useState } from 'preact/hooks'
import type { Fields } from '../../api/records.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { textIn } from '../../parts/differences.ts'
import { Field } from '../../parts/field.tsx'
import { withCurrency } from '../../parts/numbers.ts'
import { t } from '../../words/words.ts'
import { CORRECTIONS, type Correction, correct, moneyIn, stateOf } from './data.ts'

interface CorrectProps {
  readonly payment: Fields
  readonly onDone: () => void
  readonly onClose: () => void
}

export function Correct({ payment, onDone, onClose }: CorrectProps) {
  const offered = CORRECTIONS[stateOf(payment)] ?? []
  const [how, setHow] = useState<Correction>(offered[0] ?? 'cancel')
  const values = { amount: withCurrency(moneyIn(payment, 'amount')), aid: textIn(payment, 'aid') }
  return (
    <Confirm
      title={t('correct.title', { txid: textIn(payment, 'txid') })}
      about={t('correct.about', values)}
      act={t('correct.do')}
      action={how === 'cancel' ? 'api/pay' : 'api/adjustpayments'}
      hasReason
      onAct={async (reason, key) => {
        await correct(how, payment, reason, key)
        onDone()
      }}
      onClose={onClose}
    >
      <Field
        label={t('correct.how')}
        value={how}
        onValue={(value) => setHow(value as Correction)}
        choices={offered.map((value) => ({ value, label: t(`correct.${value}`) }))}
        hint={t(`correct.${how}About`)}
      />
    </Confirm>
  )
}
