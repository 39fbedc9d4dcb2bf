/** Release of open sessions: names them and the effect, asks for a reason, shows the outcomes. */
import { useState } from 'preact/hooks'
import type { DetailsOf } from '../api/call-types.ts'
import { call } from '../api/client.ts'
import { t } from '../words/words.ts'
import { Dialog } from './dialog.tsx'
import { Field } from './field.tsx'
import { useForm } from './form.tsx'
import { announce } from './live-region.tsx'
import { Refused } from './state.tsx'

interface NamedSession {
  readonly session_id: string
  readonly origin: string
}

type Outcome = DetailsOf<'api/sessions/release'>[number]

interface ReleaseDialogProps {
  readonly sessions: readonly NamedSession[]
  /** The API has answered: what the sessions held has changed. */
  readonly onReleased: () => void
  readonly onClose: () => void
}

const NAMED_MAX = 5

export function ReleaseDialog({ sessions, onReleased, onClose }: ReleaseDialogProps) {
  const [outcomes, setOutcomes] = useState<readonly Outcome[] | null>(null)
  const [only] = sessions
  const title =
    sessions.length === 1
      ? t('release.one', { id: only?.session_id ?? '' })
      : t('release.many', { count: sessions.length })
  const show = (all: readonly Outcome[]) => {
    setOutcomes(all)
    onReleased()
  }
  return (
    <Dialog title={title} onClose={onClose}>
      {outcomes === null ? (
        <Question sessions={sessions} onDone={show} onCancel={onClose} />
      ) : (
        <Outcomes outcomes={outcomes} onClose={onClose} />
      )}
    </Dialog>
  )
}

interface QuestionProps {
  readonly sessions: readonly NamedSession[]
  readonly onDone: (outcomes: readonly Outcome[]) => void
  readonly onCancel: () => void
}

/** Enter alone releases nothing; Ctrl Enter does, as it saves every form. */
function Question({ sessions, onDone, onCancel }: QuestionProps) {
  const hasPeer = sessions.some(({ origin }) => origin.startsWith('diameter:'))
  const initial = { reason: '', how: hasPeer ? 'ask' : 'now' }
  const form = useForm(initial, async ({ reason, how }) => {
    const named = sessions.map(({ session_id, origin }) => ({ session_id, origin }))
    const outcomes = await call('api/sessions/release', {
      sessions: named,
      reason,
      now: how === 'now',
    })
    announce(summaryOf(outcomes))
    onDone(outcomes)
  })
  const { reason, how } = form.values.value
  const hasReason = reason.trim() !== ''
  const release = () => {
    if (hasReason) void form.submit()
  }
  const releaseByKey = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) release()
  }
  const refusal = form.refusal.value
  const choices = [
    ...(hasPeer ? [{ value: 'ask', label: t('release.ask') }] : []),
    { value: 'now', label: t('release.now') },
  ]
  return (
    <form class="form" onSubmit={(event) => event.preventDefault()} onKeyDown={releaseByKey}>
      <p>{t(how === 'now' ? 'release.effectNow' : 'release.effectAsk')}</p>
      <ul class="listed">
        {sessions.slice(0, NAMED_MAX).map(({ session_id: id, origin }) => (
          <li key={`${origin} ${id}`}>
            <span class="id">{id}</span> <span class="muted id">{origin}</span>
          </li>
        ))}
        {sessions.length > NAMED_MAX && (
          <li>{t('release.more', { count: sessions.length - NAMED_MAX })}</li>
        )}
      </ul>
      <Field
        label={t('release.reason')}
        hint={t('release.reasonHint')}
        {...form.field('reason')}
        input={{ required: true, maxLength: 1000, autocomplete: 'off', autofocus: true }}
      />
      <Field label={t('release.how')} {...form.field('how')} choices={choices} />
      {refusal !== null && <Refused refusal={refusal} />}
      <div class="buttons">
        <button type="button" class="main" onClick={onCancel}>
          {t('release.cancel')}
        </button>
        <button
          type="button"
          class="danger"
          aria-disabled={!hasReason || form.isBusy.value}
          onClick={release}
        >
          {form.isBusy.value ? t('form.busy') : t('release.do', { count: sessions.length })}
        </button>
      </div>
    </form>
  )
}

interface OutcomesProps {
  readonly outcomes: readonly Outcome[]
  readonly onClose: () => void
}

function Outcomes({ outcomes, onClose }: OutcomesProps) {
  const refused = outcomes.filter(({ outcome }) => outcome === 'refused')
  return (
    <>
      <p>{summaryOf(outcomes)}</p>
      <ul class="listed">
        {refused.map(({ session_id: id, origin, why = '' }) => (
          <li key={`${origin} ${id}`}>
            <span class="id">{id}</span>: {why}
          </li>
        ))}
      </ul>
      <div class="buttons">
        <button type="button" class="main" onClick={onClose}>
          {t('dialog.close')}
        </button>
      </div>
    </>
  )
}

function summaryOf(outcomes: readonly Outcome[]): string {
  const count = (kind: Outcome['outcome']) =>
    outcomes.filter(({ outcome }) => outcome === kind).length
  const counts = { ended: count('ended'), asked: count('asked'), refused: count('refused') }
  return t('release.summary', counts)
}
