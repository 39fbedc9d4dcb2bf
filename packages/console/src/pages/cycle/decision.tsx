/** Asks for the key of a cycle before it is run again, reset or confirmed. */
import { useRead } from '../../api/read.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Facts } from '../../parts/facts.tsx'
import { formatMoney, formatNumber, moneyHeader } from '../../parts/numbers.ts'
import { ReadView } from '../../parts/state.tsx'
import { t } from '../../words/words.ts'
import { type CycleCommand, type CycleRef, command, readSums } from './data.ts'

const COMMANDS = {
  rerun: 'billrun/completecycle',
  reset: 'billrun/resetcycle',
  confirm: 'billrun/confirmcycle',
} as const satisfies Record<string, CycleCommand>

export type DecisionName = keyof typeof COMMANDS

interface DecisionProps {
  readonly name: DecisionName
  readonly named: CycleRef
  /** Further parameters of a run and of a confirmation. */
  readonly more: object
  readonly onDone: () => void
  readonly onClose: () => void
}

export function Decision({ name, named, more, onDone, onClose }: DecisionProps) {
  const isConfirm = name === 'confirm'
  const reading = useRead(
    `sums ${named.stamp}`,
    isConfirm ? (signal) => readSums(named, signal) : null,
  )
  const act = async () => {
    const rerun = name === 'rerun' ? { rerun: true } : {}
    await command(COMMANDS[name], named, name === 'reset' ? {} : { ...more, ...rerun })
    onDone()
  }
  return (
    <Confirm
      title={t(`cycle.${name}Title`, { key: named.stamp })}
      about={t(`cycle.${name}About`)}
      act={t(`cycle.${name}Do`)}
      action={COMMANDS[name]}
      typed={named.stamp}
      isDisabled={isConfirm && reading.state.value.isLoading}
      onAct={act}
      onClose={onClose}
    >
      {isConfirm && (
        <ReadView reading={reading} rows={3}>
          {({ invoices, before_vat: before, after_vat: after }) => (
            <Facts
              facts={[
                { title: t('cycle.confirmCount'), value: formatNumber(invoices) },
                { title: moneyHeader(t('cycle.beforeTax')), value: formatMoney(before) },
                { title: moneyHeader(t('cycle.afterTax')), value: formatMoney(after) },
              ]}
            />
          )}
        </ReadView>
      )}
    </Confirm>
  )
}
