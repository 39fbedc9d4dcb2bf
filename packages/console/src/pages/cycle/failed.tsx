/** Accounts that failed in the run: computed again, or left out. */
import { useState } from 'preact/hooks'
import { Refusal } from '../../api/errors.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { customerColumn, numberColumn, textColumn } from '../../parts/columns.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { announce } from '../../parts/live-region.tsx'
import { Refused } from '../../parts/state.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { t } from '../../words/words.ts'
import { type CycleProgress, type CycleRef, command, type Parked } from './data.ts'

interface FailedProps {
  readonly cycle: CycleProgress
  readonly named: CycleRef
  readonly onDone: () => void
}

export function FailedAccounts({ cycle, named, onDone }: FailedProps) {
  const [skipped, setSkipped] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const [result, setResult] = useState<string | Refusal | null>(null)
  const parked = (cycle.parked_accounts ?? []) as unknown as readonly Parked[]
  const retry = async (aids?: readonly string[]) => {
    setBusy(true)
    try {
      const more = aids === undefined ? {} : { aids: aids.map(Number) }
      const { invoices = 0, failed = 0 } = await command('billrun/retryparked', named, more)
      const text = t('cycle.retried', { invoices, failed })
      setResult(text)
      announce(text)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      setResult(error)
    }
    setBusy(false)
    onDone()
  }
  const count = Number(cycle.parked)
  return (
    <div class="stack">
      {result instanceof Refusal && <Refused refusal={result} />}
      {typeof result === 'string' && <p class="mark">{result}</p>}
      {parked.length === 0 ? (
        <p class="state">{t('cycle.noneFailed')}</p>
      ) : (
        <>
          <div class="buttons">
            <ActionButton
              action="billrun/retryparked"
              isDisabled={isBusy}
              onAct={() => void retry()}
            >
              {t('cycle.retryAll')}
            </ActionButton>
          </div>
          <Table
            caption={t('cycle.tab.failed')}
            columns={columns(isBusy, (aid) => void retry([aid]), setSkipped)}
            rows={parked}
            keyOf={({ aid }) => String(aid)}
          />
        </>
      )}
      {count > parked.length && <p>{t('cycle.moreFailed', { count, shown: parked.length })}</p>}
      {skipped !== null && (
        <Confirm
          title={t('cycle.skipTitle', { aid: skipped })}
          about={t('cycle.skipAbout')}
          act={t('cycle.skipDo')}
          action="billrun/skipparked"
          onAct={async () => {
            await command('billrun/skipparked', named, { aids: [Number(skipped)] })
            onDone()
          }}
          onClose={() => setSkipped(null)}
        />
      )}
    </div>
  )
}

function columns(
  isBusy: boolean,
  onRetry: (aid: string) => void,
  onSkip: (aid: string) => void,
): Column<Parked>[] {
  return [
    customerColumn('cycle.account', 'aid', ({ aid }) => aid),
    textColumn('cycle.why', ({ reason }) => reason),
    numberColumn('cycle.tries', ({ tries }) => String(tries)),
    textColumn('cycle.action', ({ aid }) => (
      <span class="buttons">
        <ActionButton
          action="billrun/retryparked"
          isBrief
          isDisabled={isBusy}
          label={t('cycle.retryOne', { aid })}
          onAct={() => onRetry(String(aid))}
        >
          {t('cycle.retry')}
        </ActionButton>
        <ActionButton
          action="billrun/skipparked"
          kind="danger"
          isBrief
          label={t('cycle.skipOne', { aid })}
          onAct={() => onSkip(String(aid))}
        >
          {t('cycle.skip')}
        </ActionButton>
      </span>
    )),
  ]
}
