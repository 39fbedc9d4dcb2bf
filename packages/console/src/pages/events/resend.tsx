/** Sends events again, after a question with their number and codes. */

import { Confirm } from '../../parts/confirm.tsx'
import { announce } from '../../parts/live-region.tsx'
import { t } from '../../words/words.ts'
import { resend, type StoredEvent } from './data.ts'

interface ResendProps {
  readonly events: readonly StoredEvent[]
  readonly onSent: () => void
  readonly onClose: () => void
}

export function ResendDialog({ events, onSent, onClose }: ResendProps) {
  const count = events.length
  const codes = [...new Set(events.map(({ event_code: code }) => code))]
  const send = async () => {
    const { resent, left } = await resend(events.map(({ stamp }) => stamp))
    announce(t('eventpage.resent', { count: resent.length, left: left.length }))
    onSent()
  }
  return (
    <Confirm
      title={t('eventpage.resendTitle', { count })}
      about={t('eventpage.resendAbout')}
      act={t('eventpage.resend', { count })}
      action="events/resend"
      onAct={send}
      onClose={onClose}
    >
      <p>{t('eventpage.resendCodes', { codes: codes.join(', ') })}</p>
    </Confirm>
  )
}
