/** File types: how a file type reads, rates and answers a message that is pasted. */
import './file-types.css'
import { useEffect, useRef, useState } from 'preact/hooks'
import { asRefusal, type Refusal } from '../../api/errors.ts'
import { useRead } from '../../api/read.ts'
import { setQuery } from '../../frame/routes.ts'
import { announce } from '../../parts/live-region.tsx'
import { missingText } from '../../parts/rights.ts'
import { ReadView, Refused, Skeleton } from '../../parts/state.tsx'
import { FILE_TYPES } from '../../words/en/file-types.ts'
import { addWords, t } from '../../words/words.ts'
import { CheckForm } from './check-form.tsx'
import { checkMessage, type Report, readFileTypes, type Typed } from './data.ts'
import { Result } from './result.tsx'
import { Samples } from './samples.tsx'
import { stagesOf } from './stages.ts'

addWords(FILE_TYPES)

interface Check {
  readonly typed: Typed
  readonly isBusy: boolean
  readonly report: Report | null
  readonly refusal: Refusal | null
}

export default function Page() {
  const types = useRead('file types', readFileTypes)
  const { check, start } = useCheck()
  const [current, setCurrent] = useState<Typed | null>(null)
  const [opened, setOpened] = useState({ message: '', count: 0 })
  const chosen = types.state.value.data?.find(({ name }) => name === current?.type)
  const isChanged = check !== null && current !== null && !isSame(check.typed, current)
  return (
    <>
      <h1 tabIndex={-1}>{t('page.filetypes')}</h1>
      <p>{t('filetypes.about')}</p>
      <div class="file-types">
        <section aria-labelledby="message-title">
          <h2 id="message-title">{t('filetypes.input')}</h2>
          <ReadView reading={types} rows={10} empty={t('filetypes.none')}>
            {(list) => (
              <CheckForm
                key={opened.count}
                initial={opened.message}
                types={list}
                isBusy={check?.isBusy === true}
                onCheck={start}
                onChange={setCurrent}
              />
            )}
          </ReadView>
        </section>
        <section aria-labelledby="result-title">
          <h2 id="result-title">{t('filetypes.result')}</h2>
          {check === null && <p class="state">{t('filetypes.nothing')}</p>}
          {check !== null && (
            <Outcome check={check} isChanged={isChanged} onRetry={() => start(check.typed)} />
          )}
        </section>
      </div>
      {chosen !== undefined && chosen.type !== 'usage' && (
        <Samples
          key={chosen.name}
          type={chosen}
          checked={isChanged || !check?.report ? null : { ...check, report: check.report }}
          onOpen={(typed) => {
            setQuery({ as: typed.form === 'hex' ? 'hex' : null })
            setOpened(({ count }) => ({ message: typed.message, count: count + 1 }))
            start(typed)
          }}
        />
      )}
    </>
  )
}

interface OutcomeProps {
  readonly check: Check
  /** Whether the form has another message by now. */
  readonly isChanged: boolean
  readonly onRetry: () => void
}

function Outcome({ check, isChanged, onRetry }: OutcomeProps) {
  const { typed, report, refusal, isBusy } = check
  if (isBusy && report === null) return <Skeleton rows={8} />
  return (
    <div aria-busy={isBusy} class="result">
      {refusal !== null && <Refused refusal={refusal} onRetry={onRetry} />}
      {report !== null && isChanged && <p class="changed">{t('filetypes.changed')}</p>}
      {report !== null && (
        <Result typed={typed} report={report} missing={missingText('api/quote')} />
      )}
    </div>
  )
}

/** The last check; a new one ends one that still runs. */
function useCheck() {
  const [check, setCheck] = useState<Check | null>(null)
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])
  const start = (typed: Typed) => {
    running.current?.abort()
    const controller = new AbortController()
    running.current = controller
    const end = (ended: Pick<Check, 'report' | 'refusal'>) => {
      if (running.current === controller) setCheck({ typed, isBusy: false, ...ended })
    }
    setCheck({ typed, isBusy: true, report: null, refusal: null })
    checkMessage(typed, missingText('api/quote') === null, controller.signal).then(
      (report) => {
        end({ report, refusal: null })
        announce(summaryOf(report))
      },
      (error: unknown) => end({ report: null, refusal: asRefusal(error) }),
    )
  }
  return { check, start }
}

function summaryOf({ steps }: Report): string {
  const texts = stagesOf(steps).map(({ name, state }) => {
    return t('filetypes.stageState', {
      stage: t(`filetypes.stage.${name}`),
      state: t(`filetypes.state.${state}`),
    })
  })
  return texts.join(' ')
}

function isSame(one: Typed, other: Typed): boolean {
  return one.type === other.type && one.form === other.form && one.message === other.message
}
