import { Page } from '../../shared/ui/Page'
import { Empty } from '../../shared/ui/states'

export default function Auctions() {
  return (
    <Page title="Auctions">
      <Empty title="This screen is being built" />
    </Page>
  )
}
