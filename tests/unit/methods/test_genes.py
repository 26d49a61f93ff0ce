"""Designs as genomes, and back."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pymoo")

from pymoo.core.population import Population

from flexibo import Space
from flexibo.methods._genes import COARSE, Breed, Coarse, Genes, variables
from flexibo.space import Integer, Ordinal, Real


def test_a_copied_gene_gives_exactly_the_value_it_was_copied_from() -> None:
    """A last digit that is lost on the way makes a new design of an old one."""
    space = Space({"rate": Real(1e-5, 0.3, log=True), "x": (0.1, 0.7), "kind": list("abcdefgh")})
    initial = space.sample(40, np.random.default_rng(0))
    breed = Breed(space, initial, k=2, limits=0, size=40, seed=(0,), rng=np.random.default_rng(0))
    rates, xs = set(initial.codes[:, 0]), set(initial.codes[:, 1])
    breed.ask()
    breed.tell(np.random.default_rng(1).random((40, 2)), np.zeros((40, 0)))
    children = breed.ask().codes
    known = np.array(sorted(rates))
    near = np.abs(children[:, :1] / known - 1.0).min(axis=1) < 1e-12
    assert near.sum() >= 5
    assert set(children[near, 0]) <= rates
    assert set(children[:, 1]) & xs


def test_the_gene_of_an_inactive_option_sleeps() -> None:
    conditions = {"momentum": {"optimiser": ["sgd"]}}
    space = Space({"optimiser": ["sgd", "adam"], "momentum": (0.0, 1.0)}, conditions=conditions)
    genes = Genes(space)
    genomes = [{"optimiser": 1, "momentum": 0.25}]
    designs = genes.expressed(genomes)
    assert list(designs) == [{"optimiser": "adam", "momentum": None}]
    population = Population.empty(1)
    genes.imprint(population, designs, genomes)
    assert genomes[0] == population[0].X
    assert list(genes.expressed([{**population[0].X, "optimiser": 0}])) == [{"optimiser": "sgd", "momentum": 0.25}]


def test_options_with_few_values_have_variables_of_their_own_class_and_constants_have_none() -> None:
    space = Space(
        {
            "kind": ["a", "b", "c"],
            "only": ["one"],
            "level": Ordinal(["low", "high"]),
            "few": Integer(1, COARSE),
            "many": Integer(1, COARSE + 1),
            "x": (0.0, 1.0),
        }
    )
    made = variables(space)
    assert list(made) == ["kind", "level", "few", "many", "x"]
    assert made["kind"].options == [0, 1, 2]
    assert [isinstance(made[name], Coarse) for name in ("level", "few", "many", "x")] == [True, True, False, False]


def test_a_genome_is_the_category_and_the_place_on_the_scale() -> None:
    space = Space({"kind": ["a", "b"], "only": ["one"], "n": (1, 5), "rate": Real(1e-4, 1.0, log=True)})
    genes, population = Genes(space), Population.empty(1)
    designs = space.designs([{"kind": "b", "only": "one", "n": 2, "rate": 1e-2}])
    genes.imprint(population, designs, [{}])
    assert pytest.approx({"kind": 1, "n": 0.25, "rate": 0.5}) == population[0].X
    assert population[0].get("key") == int(designs.keys()[0])
    assert list(genes.expressed([{"kind": 0, "n": 0.6, "rate": 0.75}])) == [
        {"kind": "a", "only": "one", "n": 3, "rate": pytest.approx(1e-1)}
    ]


def test_the_first_generation_is_the_given_one_and_children_are_legal_and_new() -> None:
    space = Space({"a": (0, 9), "b": (0, 9)}, valid=lambda design: design["a"] <= design["b"])
    first = space.sample(8, np.random.default_rng(0))
    breed = Breed(space, first, k=1, limits=1, size=8, seed=(0,), rng=np.random.default_rng(0))
    assert list(breed.ask()) == list(first)
    breed.tell(first.codes[:, :1], np.zeros((8, 1)))
    children = breed.ask()
    assert len(children) > 0
    assert space.legal(children).all()
    assert {*children}.isdisjoint(first)


def test_without_any_new_child_the_generation_is_empty_and_immigrants_take_its_place() -> None:
    space = Space({"a": ["x", "y"]})
    every = space.enumerate()
    breed = Breed(space, every, k=1, limits=1, size=2, seed=(0,), rng=np.random.default_rng(0))
    breed.ask()
    breed.tell(np.array([[1.0], [2.0]]), np.zeros((2, 1)))
    assert len(breed.ask()) == 0
    breed.immigrate(every[:1], np.random.default_rng(0))
    breed.tell(np.array([[0.5]]), np.zeros((1, 1)))
