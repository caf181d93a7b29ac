"""The words of the phrasebook, each with the forms of both languages that no rule gives.

A noun has kinds, and verbs and adjectives say which kinds they go with, so that sentences make sense.
"""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Noun:
    english: str
    english_plural: str
    gender: str  # m, f, n
    german: str
    german_plural: str
    kinds: frozenset[str]
    weak: bool = False  # der Junge, den Jungen

    @property
    def mass(self) -> bool:
        """Has no plural: milk, and a mother."""
        return not self.english_plural


@dataclass(frozen=True)
class Adjective:
    english: str
    german: str
    stem: str  # teuer, but ein teures Auto
    kinds: frozenset[str]


@dataclass(frozen=True)
class Verb:
    """English: base, third person, past, -ing, then words that stay; `particle` may stand after a pronoun (pick him up).

    German: infinitive, third person, participle (- for a state's), the prefix that comes off, the
    auxiliary of the perfect.
    """

    base: str
    third: str
    past: str
    progressive: str
    after: str
    particle: str
    infinitive: str
    er: str
    participle: str
    prefix: str
    auxiliary: str  # haben, sein
    subjects: frozenset[str]
    accusative: frozenset[str] = frozenset()  # kinds of its objects; none: it has no such object
    dative: frozenset[str] = frozenset()
    gradual: bool = True  # has a progressive: is reading, but not is knowing
    own: bool = True  # its object may be somebody's: one buys no hat of mine

    @property
    def lasting(self) -> bool:
        """Of a state, not of an act: said in the present only, and of no hour."""
        return self.participle == "-"

    @property
    def name(self) -> str:
        return f"{self.base} {self.particle or self.after}".strip()


@dataclass(frozen=True)
class Modal:
    """English, its third person, its negation (`do` becomes `does` for the third person); German ich, du, er, plural."""

    english: str
    third: str
    negated: str
    ich: str
    du: str
    er: str
    plural: str


@dataclass(frozen=True)
class Place:
    noun: Noun
    at: tuple[str, str]  # in the park, im Park
    to: str  # in den Park


@dataclass(frozen=True)
class Adverb:
    english: str
    german: str
    tenses: frozenset[str]
    clock: bool = False


def _read(tables: str) -> Iterator[tuple[frozenset[str], list[str]]]:
    """Kinds and words of each entry: a line that ends in a colon names the kinds of the entries below it."""
    kinds = ""
    for line in tables.strip().splitlines():
        if line.strip().endswith(":"):
            kinds = line.strip(" :")
        else:
            yield from ((frozenset(kinds.split()), entry.split()) for entry in line.split(",") if entry.strip())


def _nouns(tables: str) -> list[Noun]:
    """Of entries such as `boy boys der Junge Jungen weak`; what has no plural has - for it."""
    nouns = []
    for kinds, (english, plural, article, german, german_plural, *weak) in _read(tables):
        gender = {"der": "m", "die": "f", "das": "n"}[article]
        nouns.append(Noun(english, plural.strip("-"), gender, german, german_plural.strip("-"), kinds, bool(weak)))
    return nouns


NOUNS = _nouns("""
person grown:
    teacher teachers der Lehrer Lehrer, doctor doctors der Arzt Ärzte, neighbour neighbours der Nachbar Nachbarn weak,
    colleague colleagues der Kollege Kollegen weak, friend friends der Freund Freunde
person grown public:
    man men der Mann Männer, woman women die Frau Frauen, lady ladies die Dame Damen, cook cooks der Koch Köche,
    waiter waiters der Kellner Kellner, baker bakers der Bäcker Bäcker, tourist tourists der Tourist Touristen weak
person minor:
    child children das Kind Kinder, pupil pupils der Schüler Schüler
person minor public:
    girl girls das Mädchen Mädchen, boy boys der Junge Jungen weak
person family:
    mother - die Mutter -, father - der Vater -, sister sisters die Schwester Schwestern, brother brothers der Bruder Brüder,
    aunt aunts die Tante Tanten, uncle uncles der Onkel Onkel
person family old:
    grandmother - die Großmutter -, grandfather - der Großvater -
person family minor:
    daughter daughters die Tochter Töchter, son sons der Sohn Söhne
animal pet:
    dog dogs der Hund Hunde, cat cats die Katze Katzen, horse horses das Pferd Pferde
animal:
    bird birds der Vogel Vögel, cow cows die Kuh Kühe
food fruit sweet:
    apple apples der Apfel Äpfel, banana bananas die Banane Bananen, orange oranges die Orange Orangen
food fruit:
    potato potatoes die Kartoffel Kartoffeln
food baked sweet:
    cake cakes der Kuchen Kuchen
food baked:
    bread - das Brot -
food:
    soup soups die Suppe Suppen, sausage sausages die Wurst Würste, fish - der Fisch -, cheese - der Käse -
drink hot:
    coffee - der Kaffee -, tea - der Tee -
drink cool:
    water - das Wasser -, milk - die Milch -, juice - der Saft -
text lying:
    book books das Buch Bücher, newspaper newspapers die Zeitung Zeitungen
text written lying:
    letter letters der Brief Briefe, report reports der Bericht Berichte
work written:
    story stories die Geschichte Geschichten, poem poems das Gedicht Gedichte
clothing garment lying:
    shirt shirts das Hemd Hemden, jacket jackets die Jacke Jacken, coat coats der Mantel Mäntel
clothing garment feminine lying:
    dress dresses das Kleid Kleider, skirt skirts der Rock Röcke, blouse blouses die Bluse Blusen
clothing lying:
    hat hats der Hut Hüte
dish hollow standing:
    cup cups die Tasse Tassen, plate plates der Teller Teller, pot pots der Topf Töpfe
dish lying:
    fork forks die Gabel Gabeln, knife knives das Messer Messer
device standing:
    lamp lamps die Lampe Lampen, radio radios das Radio Radios
device dear standing:
    computer computers der Computer Computer, television televisions der Fernseher Fernseher
opening:
    door doors die Tür Türen, window windows das Fenster Fenster
container standing:
    bottle bottles die Flasche Flaschen
container case standing:
    suitcase suitcases der Koffer Koffer
container case:
    bag bags die Tasche Taschen
furniture surface:
    table tables der Tisch Tische, chair chairs der Stuhl Stühle, bench benches die Bank Bänke
furniture surface dear:
    bed beds das Bett Betten, sofa sofas das Sofa Sofas
furniture:
    cupboard cupboards der Schrank Schränke
vehicle dear:
    car cars das Auto Autos, bicycle bicycles das Fahrrad Fahrräder
transport public:
    bus buses der Bus Busse, train trains der Zug Züge
thing lying:
    key keys der Schlüssel Schlüssel, watch watches die Uhr Uhren, present presents das Geschenk Geschenke,
    camera cameras die Kamera Kameras
thing:
    umbrella umbrellas der Regenschirm Regenschirme, picture pictures das Bild Bilder, flower flowers die Blume Blumen
room:
    kitchen kitchens die Küche Küchen, room rooms das Zimmer Zimmer, flat flats die Wohnung Wohnungen,
    office offices das Büro Büros
place public sight:
    hotel hotels das Hotel Hotels, museum museums das Museum Museen, park parks der Park Parks,
    library libraries die Bibliothek Bibliotheken
place public town:
    village villages das Dorf Dörfer, city cities die Stadt Städte
place public:
    station stations der Bahnhof Bahnhöfe, restaurant restaurants das Restaurant Restaurants,
    market markets der Markt Märkte, supermarket supermarkets der Supermarkt Supermärkte, cinema cinemas das Kino Kinos,
    airport airports der Flughafen Flughäfen, bakery bakeries die Bäckerei Bäckereien
place public outdoors:
    beach beaches der Strand Strände, lake lakes der See Seen
place outdoors:
    garden gardens der Garten Gärten
""")
NOUN = {noun.english: noun for noun in NOUNS}
NAMES = ("Anna", "Paul", "Maria", "Thomas", "Julia", "Lukas")  # she and he in turn

# In English, in German, whither in German: in the park, im Park, in den Park.
_PLACES = {
    "in in in": "museum park cinema restaurant supermarket library village city garden kitchen office",
    "in in zu": "hotel bakery",
    "at an zu": "station airport beach lake",
    "at auf zu": "market",
}
PLACES = [
    Place(NOUN[name], (english, german), whither)
    for (english, german, whither), names in ((key.split(), value.split()) for key, value in _PLACES.items())
    for name in names
]

# English, German, and the stem that endings go on where it is another; the kinds of what may be so.
_ADJECTIVES = """
person:
    friendly freundlich, polite höflich, nice nett, funny lustig
person grown:
    famous berühmt, rich reich
person animal:
    strong stark, brave mutig, lazy faul, clever klug
person animal mood:
    tired müde müd, hungry hungrig, happy glücklich, sad traurig
person animal:
    sick krank
grown animal:
    young jung
grown old animal text work clothing device furniture vehicle thing place opening:
    old alt
text work clothing device furniture vehicle transport thing container:
    new neu
animal fruit dish furniture vehicle thing room place container opening:
    big groß, small klein
text work clothing thing sight outdoors:
    beautiful schön
clothing device furniture vehicle thing dish fruit:
    expensive teuer teur, cheap billig
clothing vehicle container dish:
    red rot, blue blau, green grün
clothing animal dish furniture:
    white weiß, black schwarz, brown braun
food cool:
    fresh frisch
food drink text work:
    good gut
cool:
    cold kalt
hot:
    hot heiß
sweet:
    sweet süß
clothing:
    warm warm
written garment:
    long lang, short kurz
text work:
    interesting interessant, boring langweilig
written:
    important wichtig
dish clothing room opening:
    clean sauber, dirty schmutzig
hollow container:
    empty leer, full voll
container:
    light leicht
container furniture:
    heavy schwer
device vehicle:
    broken kaputt
device sight room:
    modern modern
vehicle transport:
    fast schnell, slow langsam
room:
    dark dunkel dunkl, bright hell
sight town outdoors room:
    quiet ruhig
"""
ADJECTIVES = [
    Adjective(english, german, stem[0] if stem else german, kinds) for kinds, (english, german, *stem) in _read(_ADJECTIVES)
]


def _verb(
    english: str,
    german: str,
    accusative: str = "",
    dative: str = "",
    subjects: str = "person",
    gradual: bool = True,
    own: bool = True,
) -> Verb:
    """English `pick picks picked picking +up`, German `ab|holen holt abgeholt`, with `ist` at the end for sein."""
    base, third, past, progressive, *rest = english.split()
    infinitive, er, participle, *auxiliary = german.split()
    prefix, _, stem = infinitive.rpartition("|")
    after = " ".join(rest)
    return Verb(
        base=base,
        third=third,
        past=past,
        progressive=progressive,
        after="" if after.startswith("+") else after,
        particle=after[1:] if after.startswith("+") else "",
        infinitive=stem,
        er=er,
        participle=participle,
        prefix=prefix,
        auxiliary="sein" if auxiliary else "haben",
        subjects=frozenset(subjects.split()),
        accusative=frozenset(accusative.split()),
        dative=frozenset(dative.split()),
        gradual=gradual,
        own=own,
    )


_GOODS = "food text clothing dish device furniture thing vehicle"
_LIVING = "person animal"

VERBS = [
    _verb("buy buys bought buying", "kaufen kauft gekauft", f"{_GOODS} drink", own=False),
    _verb("sell sells sold selling", "verkaufen verkauft verkauft", _GOODS),
    _verb("see sees saw seeing", "sehen sieht gesehen", "person animal vehicle transport sight", gradual=False),
    _verb("find finds found finding", "finden findet gefunden", "text clothing thing dish pet", gradual=False),
    _verb("need needs needed needing", "brauchen braucht -", "device clothing thing furniture dish", gradual=False),
    _verb("have has had having", "haben hat -", "pet vehicle device thing furniture", gradual=False),
    _verb("eat eats ate eating", "essen isst gegessen", "food"),
    _verb("drink drinks drank drinking", "trinken trinkt getrunken", "drink"),
    _verb("read reads read reading", "lesen liest gelesen", "text work"),
    _verb("write writes wrote writing", "schreiben schreibt geschrieben", "written"),
    _verb("repair repairs repaired repairing", "reparieren repariert repariert", "device vehicle furniture"),
    _verb("clean cleans cleaned cleaning", "putzen putzt geputzt", "room opening vehicle"),
    _verb("carry carries carried carrying", "tragen trägt getragen", "container furniture"),
    _verb("wear wears wore wearing", "tragen trägt getragen", "clothing"),
    _verb("look looks looked looking for", "suchen sucht gesucht", "thing clothing text pet person"),
    _verb("visit visits visited visiting", "besuchen besucht besucht", "person sight"),
    _verb("forget forgets forgot forgetting", "vergessen vergisst vergessen", "thing text work clothing", gradual=False),
    _verb("love loves loved loving", "lieben liebt -", "animal", gradual=False),
    _verb("know knows knew knowing", "kennen kennt -", "person place", gradual=False),
    _verb("meet meets met meeting", "treffen trifft getroffen", "person"),
    _verb("ask asks asked asking", "fragen fragt gefragt", "person"),
    _verb(
        "understand understands understood understanding", "verstehen versteht verstanden", "person text work", gradual=False
    ),
    _verb("watch watches watched watching", "beobachten beobachtet beobachtet", "animal"),
    _verb("feed feeds fed feeding", "füttern füttert gefüttert", "animal"),
    _verb("open opens opened opening", "öffnen öffnet geöffnet", "opening container"),
    _verb("close closes closed closing", "schließen schließt geschlossen", "opening case"),
    _verb("phone phones phoned phoning", "an|rufen ruft angerufen", "person"),
    _verb("pick picks picked picking +up", "ab|holen holt abgeholt", "person"),
    _verb("invite invites invited inviting", "ein|laden lädt eingeladen", "person"),
    _verb("bring brings brought bringing +along", "mit|bringen bringt mitgebracht", "food text thing drink"),
    _verb("tidy tidies tidied tidying +up", "auf|räumen räumt aufgeräumt", "room"),
    _verb("turn turns turned turning +on", "ein|schalten schaltet eingeschaltet", "device"),
    _verb("turn turns turned turning +off", "aus|schalten schaltet ausgeschaltet", "device"),
    _verb("put puts put putting +on", "an|ziehen zieht angezogen", "garment", own=False),
    _verb("take takes took taking +off", "aus|ziehen zieht ausgezogen", "garment", own=False),
    _verb("try tries tried trying +on", "an|probieren probiert anprobiert", "clothing", own=False),
    _verb("throw throws threw throwing +away", "weg|werfen wirft weggeworfen", "text clothing food"),
    _verb("wash washes washed washing +up", "ab|waschen wäscht abgewaschen", "dish"),
    _verb("give gives gave giving +back", "zurück|geben gibt zurückgegeben", "text thing container"),
    _verb("help helps helped helping", "helfen hilft geholfen", dative="person"),
    _verb("thank thanks thanked thanking", "danken dankt gedankt", dative="person"),
    _verb("answer answers answered answering", "antworten antwortet geantwortet", dative="person"),
    _verb("listen listens listened listening to", "zu|hören hört zugehört", dative="person"),
    _verb("give gives gave giving", "geben gibt gegeben", "food text thing dish", "person"),
    _verb("show shows showed showing", "zeigen zeigt gezeigt", "text work thing clothing pet room", "person"),
    _verb("send sends sent sending", "schicken schickt geschickt", "text work thing", "person"),
    _verb("bring brings brought bringing", "bringen bringt gebracht", "food text thing dish", "person"),
    _verb("lend lends lent lending", "leihen leiht geliehen", "text thing clothing vehicle", "person"),
    _verb("sleep sleeps slept sleeping", "schlafen schläft geschlafen", subjects=_LIVING),
    _verb("work works worked working", "arbeiten arbeitet gearbeitet"),
    _verb("laugh laughs laughed laughing", "lachen lacht gelacht"),
    _verb("sing sings sang singing", "singen singt gesungen"),
    _verb("swim swims swam swimming", "schwimmen schwimmt geschwommen ist", subjects=_LIVING),
    _verb("wait waits waited waiting", "warten wartet gewartet", subjects=_LIVING),
    _verb("cry cries cried crying", "weinen weint geweint"),
    _verb("dance dances danced dancing", "tanzen tanzt getanzt"),
    _verb("play plays played playing", "spielen spielt gespielt", subjects=_LIVING),
    _verb("practise practises practised practising", "üben übt geübt"),
    _verb("get gets got getting up", "auf|stehen steht aufgestanden ist"),
    _verb("get gets got getting off", "aus|steigen steigt ausgestiegen ist"),
    _verb("wake wakes woke waking up", "auf|wachen wacht aufgewacht ist", subjects=_LIVING),
    _verb("fall falls fell falling asleep", "ein|schlafen schläft eingeschlafen ist", subjects=_LIVING),
    _verb("come comes came coming back", "zurück|kommen kommt zurückgekommen ist", subjects=_LIVING),
    _verb("go goes went going out", "aus|gehen geht ausgegangen ist"),
    _verb("go goes went going away", "weg|gehen geht weggegangen ist"),
    _verb("arrive arrives arrived arriving", "an|kommen kommt angekommen ist", subjects="person transport"),
    _verb("leave leaves left leaving", "ab|fahren fährt abgefahren ist", subjects="transport"),
]
VERB = {verb.name: verb for verb in VERBS}
BE = _verb("be is was being", "sein ist gewesen ist", gradual=False)
LIE = _verb("be is was being", "liegen liegt gelegen", gradual=False)
STAND = _verb("be is was being", "stehen steht gestanden", gradual=False)
LAY = _verb("put puts put putting", "legen legt gelegt", "lying")
SET = _verb("put puts put putting", "stellen stellt gestellt", "standing")
GO = _verb("go goes went going", "gehen geht gegangen ist")
DRIVE = _verb("drive drives drove driving", "fahren fährt gefahren ist")
COME = _verb("come comes came coming", "kommen kommt gekommen ist")

MODALS = [
    Modal("can", "can", "cannot", "kann", "kannst", "kann", "können"),
    Modal("must", "must", "do not have to", "muss", "musst", "muss", "müssen"),
    Modal("want to", "wants to", "do not want to", "will", "willst", "will", "wollen"),
    Modal("be allowed to", "be allowed to", "be not allowed to", "darf", "darfst", "darf", "dürfen"),
    Modal("should", "should", "should not", "sollte", "solltest", "sollte", "sollten"),
    Modal("would like to", "would like to", "would not like to", "möchte", "möchtest", "möchte", "möchten"),
    Modal("will", "will", "will not", "werde", "wirst", "wird", "werden"),
]
MODAL = {modal.english: modal for modal in MODALS}


def _adverbs(tenses: str, *entries: str) -> list[Adverb]:
    pairs = (entry.partition(" = ")[::2] for entry in entries)
    return [Adverb(english, german, frozenset(tenses.split())) for english, german in pairs]


ADVERBS = [
    *_adverbs("present", "every day = jeden Tag", "every week = jede Woche", "on Mondays = montags", "on Sundays = sonntags"),
    *_adverbs("present modal", "in the evening = am Abend", "in the afternoon = am Nachmittag"),
    *_adverbs("progressive modal past", "today = heute", "on Monday = am Montag", "on Friday = am Freitag"),
    *_adverbs("progressive", "now = jetzt"),
    *_adverbs("modal", "tomorrow = morgen", "next week = nächste Woche", "soon = bald"),
    *_adverbs("past", "yesterday = gestern", "last week = letzte Woche", "yesterday evening = gestern Abend"),
]

UNITS = {
    "one": "ein",
    "two": "zwei",
    "three": "drei",
    "four": "vier",
    "five": "fünf",
    "six": "sechs",
    "seven": "sieben",
    "eight": "acht",
    "nine": "neun",
    "ten": "zehn",
    "eleven": "elf",
    "twelve": "zwölf",
    "thirteen": "dreizehn",
    "fourteen": "vierzehn",
    "fifteen": "fünfzehn",
    "sixteen": "sechzehn",
    "seventeen": "siebzehn",
    "eighteen": "achtzehn",
    "nineteen": "neunzehn",
}
TENS = {
    "twenty": "zwanzig",
    "thirty": "dreißig",
    "forty": "vierzig",
    "fifty": "fünfzig",
    "sixty": "sechzig",
    "seventy": "siebzig",
    "eighty": "achtzig",
    "ninety": "neunzig",
}
