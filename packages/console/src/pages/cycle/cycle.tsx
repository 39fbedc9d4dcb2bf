/** One cycle: the progress of its run, once a second, and what can be done with it. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { Refusal } from '../../api/errors.ts'
import { useRead } from '../../api/read.ts'
import { link } from '../../frame/routes.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Facts } from '../../parts/facts.tsx'
import { announce } from '../../parts/live-region.tsx'
import { formatNumber } from '../../parts/numbers.ts'
import { ProgressBar, usePolling } from '../../parts/progress.tsx'
import { Age, ReadView, Refused } from '../../parts/state.tsx'
import { Tabs, tabOf } from '../../parts/tabs.tsx'
import type { WordKey } from '../../words/en.ts'
import { t } from '../../words/words.ts'
import {
  type CycleCommand,
  type CycleProgress,
  type CycleRef,
  command,
  readCycle,
  stateText,
} from './data.ts'
import { Decision, type DecisionName } from './decision.tsx'
import { FailedAccounts } from './failed.tsx'
import { Previews } from './preview.tsx'

const TABS = ['failed', 'preview'] as const

interface CycleProps {
  readonly named: CycleRef
  /** The state of the cycle has changed. */
  readonly onChanged: () => void
}

export function Cycle({ named, onChanged }: CycleProps) {
  const isRepeated = useRef(false)
  const reading = useRead(`cycle ${JSON.stringify(named)}`, (signal) =>
    readCycle(named, signal, isRepeated.current),
  )
  const { data, atMs } = reading.state.value
  const state = data === null ? null : stateOf(data)
  const isMoving = state === 'running' || state === 'confirming'
  isRepeated.current = isMoving
  usePolling(reading, isMoving)
  const before = useRef(state)
  useEffect(() => {
    if (before.current !== null && state !== null && state !== before.current) {
      announce(stateText(state))
      onChanged()
    }
    before.current = state
  }, [state])
  const tab = tabOf(TABS)
  return (
    <section class="cycle stack" aria-labelledby="cycle">
      <header class="section-header">
        <h2 id="cycle">{t('cycle.title', { key: named.stamp })}</h2>
        {atMs !== null && <Age atMs={atMs} />}
      </header>
      <ReadView reading={reading} rows={8}>
        {(cycle) => (
          <div class="stack">
            <Progress cycle={cycle} />
            <Actions cycle={cycle} named={named} onDone={reading.reload} />
          </div>
        )}
      </ReadView>
      <Tabs
        label={t('cycle.tabs')}
        tabs={TABS.map((name) => ({ name, title: t(`cycle.tab.${name}`) }))}
      />
      {tab === 'preview' && <Previews named={named} />}
      {tab === 'failed' && data !== null && (
        <FailedAccounts cycle={data} named={named} onDone={reading.reload} />
      )}
    </section>
  )
}

/** The state of the run and of the confirmation in one. */
function stateOf({ cycle_status: status = '', state, isConfirming }: CycleProgress): string {
  if (isConfirming) return 'confirming'
  return status === 'running' && state === 'paused' ? 'paused' : status
}

function Progress({ cycle }: { readonly cycle: CycleProgress }) {
  const { accounts, completion_percentage: percent = 0, reason } = cycle
  const { total, accounts: done = 0, empty = 0, failed = 0 } = accounts
  const values = { done: formatNumber(done), total: formatNumber(total) }
  const state = stateOf(cycle)
  const text =
    total === 0
      ? t('cycle.progressCount', values)
      : t('cycle.progressOf', { ...values, percent: formatNumber(percent) })
  return (
    <>
      <p>
        <strong class={`mark ${MARKS[state] ?? ''}`}>{stateText(state)}</strong>{' '}
        <span class="muted">
          {cycle.start_date?.slice(0, 10)} – {cycle.end_date?.slice(0, 10)}
        </span>
      </p>
      <ProgressBar percent={Number(percent)} label={t('cycle.progress')} text={text} />
      <Facts
        facts={[
          { title: t('cycle.invoices'), value: formatNumber(cycle.generated_invoices ?? 0) },
          { title: t('cycle.bills'), value: formatNumber(cycle.generated_bills ?? 0) },
          { title: t('cycle.empty'), value: formatNumber(empty) },
          { title: t('cycle.failed'), value: formatNumber(failed) },
          { title: t('cycle.reason'), value: reason },
        ]}
      />
    </>
  )
}

const MARKS: Readonly<Record<string, string>> = {
  paused: 'warn',
  to_run: 'warn',
  to_rerun: 'warn',
  finished: 'warn',
  confirmed: 'good',
}

interface Offered {
  readonly title: WordKey
  readonly command: CycleCommand
  /** States in which it is offered. */
  readonly states: readonly string[]
  /** Asked before; without it the command is sent at once. */
  readonly decision?: DecisionName
}

const OFFERED: readonly Offered[] = [
  { title: 'cycle.run', command: 'billrun/completecycle', states: ['to_run'] },
  { title: 'cycle.continue', command: 'billrun/completecycle', states: ['paused'] },
  { title: 'cycle.pause', command: 'billrun/pausecycle', states: ['running'] },
  {
    title: 'cycle.confirm',
    command: 'billrun/confirmcycle',
    states: ['finished', 'to_rerun'],
    decision: 'confirm',
  },
  {
    title: 'cycle.rerun',
    command: 'billrun/completecycle',
    states: ['finished', 'to_rerun'],
    decision: 'rerun',
  },
  {
    title: 'cycle.reset',
    command: 'billrun/resetcycle',
    states: ['finished'],
    decision: 'reset',
  },
]

interface ActionsProps {
  readonly cycle: CycleProgress
  readonly named: CycleRef
  readonly onDone: () => void
}

function Actions({ cycle, named, onDone }: ActionsProps) {
  const [hasPdf, setPdf] = useState(cycle.generate_pdf === true)
  const [decision, setDecision] = useState<DecisionName | null>(null)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const offered = OFFERED.filter(({ states }) => states.includes(stateOf(cycle)))
  const generatePdf = { generate_pdf: String(hasPdf) }
  const act = ({ command: name, decision: asked }: Offered) => {
    setRefusal(null)
    if (asked !== undefined) return setDecision(asked)
    command(name, named, name === 'billrun/completecycle' ? generatePdf : {}).then(
      onDone,
      (error: unknown) => setRefusal(error instanceof Refusal ? error : null),
    )
  }
  if (offered.length === 0) return null
  return (
    <>
      {refusal !== null && <Refused refusal={refusal} />}
      <div class="buttons">
        {offered.map((each, index) => (
          <ActionButton
            key={each.title}
            action={each.command}
            kind={index === 0 ? 'main' : 'plain'}
            isBrief={index > 0}
            onAct={() => act(each)}
          >
            {t(each.title)}
          </ActionButton>
        ))}
        {stateOf(cycle) !== 'running' && (
          <label class="check">
            <input type="checkbox" checked={hasPdf} onChange={() => setPdf(!hasPdf)} />
            {t('cycle.pdf')}
          </label>
        )}
        <a href={link('invoices', { cycle: named.stamp })}>{t('cycle.showInvoices')}</a>
      </div>
      {decision !== null && (
        <Decision
          name={decision}
          named={named}
          more={generatePdf}
          onDone={onDone}
          onClose={() => setDecision(null)}
        />
      )}
    </>
  )
}
